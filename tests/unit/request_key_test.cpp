#include "src/plan/request_key.hpp"

#include <deque>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace gradjit::detail {
namespace {

constexpr auto f32 = DataType::f32;
constexpr auto bf16 = DataType::bf16;

std::vector<std::int64_t> words_of(const RequestKey& key) {
  EXPECT_TRUE(key.is_whole());
  return {key.words().begin(), key.words().end()};
}

TEST(RequestKey, TellsRequestsApart) {
  const TensorDesc desc{f32, {2, 3}};
  const TensorDesc strided{f32, {2, 3}, {3, 1}};
  std::deque<RequestKey> keys;
  for (const auto& attributes :
       std::vector<EluBackward>{{.alpha = 1},
                                {.alpha = 2},
                                {.alpha = 1, .use_dst = false},
                                {.alpha = 1, .in_place = true},
                                {.alpha = std::numeric_limits<float>::quiet_NaN()}}) {
    keys.emplace_back(attributes, desc);
    keys.emplace_back(attributes, strided);
    keys.emplace_back(attributes, TensorDesc(bf16, {2, 3}));
    keys.emplace_back(attributes, TensorDesc(f32, {2, 3, 3, 1}));
    keys.emplace_back(attributes, TensorDesc(f32, {2, 3, 1}, {3}));
    keys.emplace_back(attributes, TensorDesc(f32, {}));
    keys.emplace_back(attributes, EluBackwardTensors{.src = desc, .diff_dst = desc});
    keys.emplace_back(attributes, EluBackwardTensors{.dst = desc, .diff_dst = desc});
    keys.emplace_back(attributes, EluBackwardTensors{.dst = desc, .diff_dst = desc, .diff_src = desc});
    keys.emplace_back(attributes, EluBackwardTensors{.dst = desc, .diff_dst = strided, .diff_src = desc});
    keys.emplace_back(attributes, EluBackwardTensors{.dst = desc, .diff_dst = desc, .diff_src = strided});
  }
  for (const auto& attributes : std::vector<LogSoftmaxBackward>{{}, {.axis = 1}, {.in_place = true}}) {
    keys.emplace_back(attributes, desc);
    keys.emplace_back(attributes, strided);
    keys.emplace_back(attributes, LogSoftmaxBackwardTensors{.diff_dst = desc, .dst = desc});
    keys.emplace_back(attributes, LogSoftmaxBackwardTensors{.diff_dst = desc, .dst = strided});
    keys.emplace_back(attributes, LogSoftmaxBackwardTensors{.diff_dst = strided, .dst = desc});
    keys.emplace_back(attributes, LogSoftmaxBackwardTensors{.dst = desc, .diff_src = desc});
  }
  std::set<std::vector<std::int64_t>> words;
  std::set<std::uint64_t> hashes;
  for (const RequestKey& key : keys) {
    words.insert(words_of(key));
    hashes.insert(key.hash());
  }
  EXPECT_EQ(words.size(), keys.size());
  EXPECT_EQ(hashes.size(), keys.size());
}

TEST(RequestKey, IsTheSameForTheSameRequest) {
  const LogSoftmaxBackwardTensors tensors{.diff_dst = TensorDesc(bf16, {4, 5}, {5, 1}),
                                          .dst = TensorDesc(bf16, {4, 5}, {1, 4})};
  const RequestKey first(LogSoftmaxBackward{.axis = -2}, tensors);
  const RequestKey second(LogSoftmaxBackward{.axis = -2}, LogSoftmaxBackwardTensors(tensors));
  EXPECT_EQ(words_of(first), words_of(second));
  EXPECT_EQ(first.hash(), second.hash());
}

TEST(RequestKey, HoldsTheGreatestRankAndNoMore) {
  const auto tensors = [](std::size_t rank, std::size_t strides) {
    const TensorDesc desc{f32, Dims(rank, 1), Dims(strides, 1)};
    return EluBackwardTensors{.src = desc, .dst = desc, .diff_dst = desc, .diff_src = desc};
  };
  const EluBackward attributes{.alpha = 1};
  EXPECT_TRUE(RequestKey(attributes, tensors(max_rank, max_rank)).is_whole());
  EXPECT_FALSE(RequestKey(attributes, tensors(max_rank + 1, 0)).is_whole());
  EXPECT_FALSE(RequestKey(attributes, tensors(1, 1000000)).is_whole());
}

// As far as that goes: sizes that are usual must not fall into few of the memo's sets.
TEST(RequestKey, SpreadsTheHashesOfUsualSizes) {
  std::set<std::uint64_t> sets;
  for (std::int64_t size = 1024; size <= 64 * 1024; size += 1024) {
    sets.insert(RequestKey(LogSoftmaxBackward{}, TensorDesc(f32, {64, size})).hash() % 64);
  }
  EXPECT_GT(sets.size(), 32U);
}

}  // namespace
}  // namespace gradjit::detail
