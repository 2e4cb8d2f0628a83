// Kernels for tensors larger than the caches, with caches so small that every tensor is: the same bits,
// whatever lies before and after the aligned vectors.

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "src/cache/kernel_cache.hpp"
#include "src/execute/kernel_state.hpp"
#include "tests/support/element_bits.hpp"
#include "tests/support/kernel_case.hpp"

namespace gradjit::test {
namespace {

detail::Request request_of(const KernelCase& c) {
  const TensorDesc desc(c.dtype, c.dims);
  if (c.is_elu) {
    return detail::validated(EluBackward{.alpha = c.alpha, .use_dst = c.use_dst, .in_place = c.in_place},
                             desc);
  }
  return detail::validated(LogSoftmaxBackward{.axis = c.axis, .in_place = c.in_place}, desc);
}

/// The elements of a case at any distance from an aligned address, between bytes that must stay.
class Unaligned {
 public:
  Unaligned(DataType dtype, const std::vector<std::uint32_t>& elements, std::size_t offset)
      : size_(size_of(dtype)), offset_(offset), bytes_(size_ * elements.size() + 256, fill) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      std::memcpy(data() + size_ * i, &elements[i], size_);
    }
  }

  [[nodiscard]] std::byte* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return bytes_.data() + (64 - address % 64) % 64 + offset_;
  }
  [[nodiscard]] std::vector<std::uint32_t> elements(std::size_t count) {
    std::vector<std::uint32_t> result(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&result[i], data() + size_ * i, size_);
    }
    return result;
  }
  /// Nothing but `count` elements has changed.
  [[nodiscard]] bool is_intact_around(std::size_t count) {
    const auto first = static_cast<std::size_t>(data() - bytes_.data());
    const std::span all(bytes_);
    return std::ranges::all_of(all.first(first), is_fill) &&
           std::ranges::all_of(all.subspan(first + size_ * count), is_fill);
  }

 private:
  static constexpr std::byte fill{0xA5};
  static bool is_fill(std::byte b) { return b == fill; }

  std::size_t size_;
  std::size_t offset_;
  std::vector<std::byte> bytes_;
};

class Streaming : public testing::TestWithParam<std::tuple<DataType, bool>> {
 protected:
  void check(KernelCase c) {
    c.dtype = std::get<0>(GetParam());
    c.in_place = std::get<1>(GetParam());
    const Inputs inputs = random_inputs(c, random_);
    const auto expected = run(c, inputs, Isa::portable, GuardedBuffer::Guard::before);
    for (const Isa isa : emitted_isas()) {
      detail::KernelState state(request_of(c), isa, tiny_caches, ExecutorRef(serial_executor()));
      ASSERT_TRUE(state.plan().spec.streaming) << text_of(c);
      state.load(cache_);
      // Odd offsets can never be aligned.
      for (const std::size_t offset : {0U, 1U, 2U, 4U, 6U, 20U, 31U, 32U, 36U, 60U, 62U}) {
        Unaligned activation(c.dtype, inputs.activation, 0);
        Unaligned diff_dst(c.dtype, inputs.diff_dst, c.in_place ? offset : 12);
        Unaligned diff_src(c.dtype, inputs.diff_dst, offset);
        Unaligned& result = c.in_place ? diff_dst : diff_src;
        state.run({.activation = activation.data(), .diff_dst = diff_dst.data(), .diff_src = result.data()});
        const auto found = difference(c, inputs, expected, result.elements(expected.size()));
        ASSERT_FALSE(found) << text_of(c) << " on " << name_of(isa) << " offset " << offset << ": "
                            << found.value_or("");
        ASSERT_TRUE(result.is_intact_around(expected.size())) << text_of(c) << " offset " << offset;
      }
    }
  }

  std::mt19937 random_{3};
  detail::KernelCache cache_{64};
};

TEST_P(Streaming, EluBackward) {
  for (const std::int64_t count : {2048, 2049, 2063, 5003}) {
    for (const bool use_dst : {false, true}) {
      check({.is_elu = true, .dims = {count}, .alpha = 1.3F, .use_dst = use_dst});
    }
  }
}

TEST_P(Streaming, LogSoftmaxBackwardAlongPackedRows) {
  for (const std::int64_t length : {1, 3, 10, 16, 17, 32}) {
    for (const std::int64_t rows : {352, 353, 367}) {
      check({.is_elu = false, .dims = {rows, length}, .axis = 1, .special_one_in = 100});
    }
  }
}

/// Rows whose ends after whole chunks are shorter and longer than what lies before an aligned diff_src.
TEST_P(Streaming, LogSoftmaxBackwardAlongRows) {
  for (const std::int64_t length : {2048, 2049, 2055, 2064, 2175, 2300}) {
    check({.is_elu = false, .dims = {4, length}, .axis = 1, .special_one_in = 3000});
  }
}

/// Adjacent rows, whose vectors go on from one to the next, with all numbers of elements on either side. (In
/// place, only long rows stream.)
TEST_P(Streaming, LogSoftmaxBackwardAlongShortAdjacentRows) {
  if (std::get<1>(GetParam())) {
    return;
  }
  for (const std::int64_t length : {33, 47, 48, 63, 81, 100, 127, 128, 129, 143, 144, 193, 256}) {
    check({.is_elu = false, .dims = {19, length}, .axis = 1, .special_one_in = 100});
  }
  check({.is_elu = false, .dims = {19, 37}, .axis = 1, .special_one_in = 4});
}

/// Special values in most groups of vectors, which are then done by code apart from the loops.
TEST_P(Streaming, LogSoftmaxBackwardOfManySpecialValues) {
  for (const std::int64_t length : {2049, 2300}) {
    check({.is_elu = false, .dims = {4, length}, .axis = 1, .special_one_in = 20});
    check({.is_elu = false, .dims = {2, 3, length}, .axis = 1, .special_one_in = 20});
  }
  check({.is_elu = false, .dims = {2, 65536 + 300}, .axis = 1, .special_one_in = 20});
}

TEST_P(Streaming, LogSoftmaxBackwardAlongColumns) {
  for (const std::int64_t columns : {2048, 2055}) {
    check({.is_elu = false, .dims = {2, 3, columns}, .axis = 1, .special_one_in = 500});
  }
}

/// Slabs and short rows that are whole cache lines, or fill them together, in every type.
TEST_P(Streaming, LogSoftmaxBackwardOfWholeLines) {
  for (const std::int64_t length : {64, 96, 160}) {
    check({.is_elu = false, .dims = {40, length}, .axis = 1, .special_one_in = 100});
  }
  for (const std::int64_t columns : {2, 3, 7}) {
    check({.is_elu = false, .dims = {20, 96, columns}, .axis = 1, .special_one_in = 100});
  }
  for (const std::int64_t columns : {16, 21, 49, 64}) {
    check({.is_elu = false, .dims = {3, 32, columns}, .axis = 1, .special_one_in = 100});
  }
  // Of a few pieces more than whole lines.
  for (const std::int64_t length : {8, 24, 40, 72}) {
    check({.is_elu = false, .dims = {20, length, 7}, .axis = 1, .special_one_in = 100});
    check({.is_elu = false, .dims = {3, length, 49}, .axis = 1, .special_one_in = 100});
  }
}

TEST_P(Streaming, LogSoftmaxBackwardOfSeveralSegments) {
  for (const std::int64_t length : {65536 + 3, 65536 + 300}) {
    check({.is_elu = false, .dims = {2, length}, .axis = 1, .special_one_in = 0});
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Streaming,
                         testing::Combine(testing::Values(DataType::f32, DataType::bf16, DataType::f16),
                                          testing::Bool()),
                         [](const auto& test) {
                           return std::string(name_of(std::get<0>(test.param))) +
                                  (std::get<1>(test.param) ? "_in_place" : "");
                         });

}  // namespace
}  // namespace gradjit::test
