#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/gradjit.hpp>

#include "src/code_memory/code_memory.hpp"
#include "tests/support/child_process.hpp"

namespace gradjit {
namespace {

constexpr auto f32 = DataType::f32;

EluBackwardKernel elu(KernelFactory& factory, float alpha, std::int64_t size = 100) {
  return factory.elu_backward({.alpha = alpha, .use_dst = false}, {f32, {size}});
}

TEST(KernelFactory, MakesWhatIsAskedForAgainOnce) {
  KernelFactory factory;
  const auto first = elu(factory, 1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(elu(factory, 1).code().data(), first.code().data());
  }
  const FactoryStats stats = factory.stats();
  EXPECT_EQ(stats.hits, 10U);
  EXPECT_EQ(stats.misses, 1U);
  EXPECT_EQ(stats.emissions, 1U);
}

TEST(KernelFactory, CountsEveryKernelOfARequest) {
  KernelFactory factory;
  const TensorDesc segmented{f32, {3, 65536 + 17}};
  (void)factory.log_softmax_backward({}, segmented);
  const std::uint64_t kernels = factory.stats().misses + factory.stats().hits;
  EXPECT_GT(kernels, 2U);
  for (std::uint64_t i = 2; i < 5; ++i) {
    (void)factory.log_softmax_backward({}, segmented);
    EXPECT_EQ(factory.stats().misses + factory.stats().hits, i * kernels);
  }
}

TEST(KernelFactory, TellsRequestsApart) {
  KernelFactory factory;
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t rows = 1; rows < 30; ++rows) {
      std::vector<float> ones(static_cast<std::size_t>(rows) * 40, 1.0F);
      std::vector<float> diff_src(ones.size(), -1.0F);
      factory.elu_backward({.alpha = 3}, {f32, {rows, 40}})
          .run({.dst = ones.data(), .diff_dst = ones.data(), .diff_src = diff_src.data()});
      EXPECT_EQ(diff_src, ones) << rows;
    }
  }
}

TEST(KernelFactory, RefusesABadRequestEveryTime) {
  KernelFactory factory;
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW((void)elu(factory, -1), Error);
    EXPECT_THROW((void)elu(factory, 1, -1), Error);
    EXPECT_THROW((void)factory.elu_backward({.alpha = 1}, {f32, Dims(13, 1)}), Error);
    EXPECT_THROW((void)factory.elu_backward({.alpha = 1}, {f32, Dims(100000, 1)}), Error);
    EXPECT_THROW((void)factory.elu_backward({.alpha = 1}, {f32, {2, 2}, Dims(100000, 1)}), Error);
  }
}

TEST(KernelFactory, KeepsNothingWithoutCapacity) {
  KernelFactory factory({.cache_capacity = 0});
  (void)elu(factory, 1);
  (void)elu(factory, 1);
  EXPECT_EQ(factory.stats().hits, 0U);
  EXPECT_EQ(factory.stats().emissions, 2U);
}

// A request that is made again and again keeps its kernel in the cache.
TEST(KernelFactory, LetsGoOfTheKernelThatWasNotAskedForAgain) {
  KernelFactory factory({.cache_capacity = 2});
  (void)elu(factory, 1);
  (void)elu(factory, 1);
  (void)elu(factory, 2);
  (void)elu(factory, 3);
  EXPECT_EQ(factory.stats().evictions, 1U);
  EXPECT_EQ(factory.stats().emissions, 3U);
  (void)elu(factory, 1);
  EXPECT_EQ(factory.stats().emissions, 3U);
}

// Also what other threads have asked for last.
TEST(KernelFactory, FreesTheCodeOfKernelsThatItLetsGoOf) {
  KernelFactory factory({.cache_capacity = 1});
  const std::size_t before = detail::code_memory_stats().used_bytes;
  std::thread([&] {
    (void)elu(factory, 1);
    (void)elu(factory, 1);
  }).join();
  if (elu(factory, 1).code().empty()) GTEST_SKIP() << "portable kernels are no code that could be freed";
  EXPECT_GT(detail::code_memory_stats().used_bytes, before);
  const auto last = elu(factory, 2);
  EXPECT_EQ(factory.stats().kernels, 1U);
  const std::size_t alone = (last.code().size() + 63) / 64 * 64;
  EXPECT_EQ(detail::code_memory_stats().used_bytes, before + alone);
}

/// Asks for kernels that are often the same as before, until `stop` or `requests` of them. Returns how many
/// were not what was asked for.
int ask_at_random(KernelFactory& factory, unsigned seed, int requests, const std::atomic<bool>& stop) {
  std::mt19937 random(seed);
  int wrong = 0;
  for (int i = 0; i < requests && !stop; ++i) {
    const auto number = static_cast<int>(random() % (i % 7 == 0 ? 40 : 6));
    const bool in_place = number % 2 == 0;
    const auto kernel = factory.elu_backward({.alpha = static_cast<float>(number), .in_place = in_place},
                                             {f32, {2, 3 + number}});
    const bool named_in_place = kernel.name().find("in_place") != std::string::npos;
    std::vector<float> g(2 * static_cast<std::size_t>(3 + number), 1.0F);
    std::vector<float> dst(g.size(), -0.5F);
    std::vector<float> diff_src(g.size());
    float* const result = in_place ? g.data() : diff_src.data();
    kernel.run({.dst = dst.data(), .diff_dst = g.data(), .diff_src = result}, serial_executor());
    const std::vector<float> expected(g.size(), static_cast<float>(number) - 0.5F);
    wrong += named_in_place == in_place && (in_place ? g : diff_src) == expected ? 0 : 1;
  }
  return wrong;
}

TEST(KernelFactory, ServesManyThreadsWhileKernelsComeAndGo) {
  KernelFactory factory({.cache_capacity = 10});
  constexpr int requests = 3000;
  const std::atomic<bool> never{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { wrong += ask_at_random(factory, i, requests, never); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  const FactoryStats stats = factory.stats();
  EXPECT_EQ(stats.hits + stats.misses, 4U * requests);
  EXPECT_EQ(stats.kernels, 10U);
  EXPECT_GT(stats.evictions, 0U);
}

// Whatever threads of the parent were asking for, a child can ask too.
TEST(KernelFactory, WorksInAForkedChild) {
  KernelFactory factory({.cache_capacity = 10});
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] { (void)ask_at_random(factory, i, 1 << 30, stop); });
  }
  int failed = 0;
  for (int i = 0; i < 20 && failed == 0; ++i) {
    failed = test::run_in_child([&] {
      const std::atomic<bool> never{false};
      return ask_at_random(factory, 7, 300, never) == 0;
    });
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace gradjit
