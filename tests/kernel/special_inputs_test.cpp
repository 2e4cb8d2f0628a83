// Every special input with every other, in the first lane, in the last and in a partial vector: the same bits
// on every instruction set, and within the bounds.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/element_bits.hpp"
#include "tests/support/strided_case.hpp"

namespace gradjit::test {
namespace {

using Bits = std::vector<std::uint32_t>;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float largest = std::numeric_limits<float>::max();

/// What makes NaN, zeros, subnormals and infinities out of gradients, and what stands at their borders.
Bits special_elements(DataType dtype) {
  const std::uint32_t infinity_bits = encode(dtype, infinity);
  const std::uint32_t quiet = dtype == DataType::f32 ? 1U << 22 : dtype == DataType::bf16 ? 1U << 6 : 1U << 9;
  const std::uint32_t smallest_normal = dtype == DataType::f16 ? 0x0400U : encode(dtype, 0x1p-126F);
  Bits elements{0,                      // +0
                1,                      // the smallest subnormal
                smallest_normal - 1,    // the largest subnormal
                smallest_normal,        //
                encode(dtype, 1.0F),    //
                encode(dtype, 100.0F),  // exp is large, but nobody asks for it
                infinity_bits - 1,      // the largest number
                infinity_bits,          //
                infinity_bits | quiet,  // a quiet NaN
                infinity_bits + 1};     // a signalling one
  const std::uint32_t sign = dtype == DataType::f32 ? 1U << 31 : 1U << 15;
  for (std::size_t i = 0, count = elements.size(); i < count; ++i) {
    elements.push_back(elements[i] | sign);
  }
  return elements;
}

/// Where exp of f32 becomes subnormal, zero, and stays so.
Bits special_activations(DataType dtype) {
  Bits elements = special_elements(dtype);
  for (const float value : {-0.5F, -86.5F, -87.5F, -88.0F, -95.0F, -103.5F, -104.0F, -1000.0F, -3e38F}) {
    elements.push_back(encode(dtype, std::max(value, dtype == DataType::f16 ? -65504.0F : -3e38F)));
  }
  return elements;
}

class SpecialInputs : public testing::TestWithParam<DataType> {
 protected:
  /// Checks `c` with the pairs of elements at places `shift`, `shift` + 1, …, the rest common.
  void check_shifted(StridedCase c, const Bits& activations, const Bits& gradients, std::size_t shift) {
    const auto count = static_cast<std::size_t>(elements_of(c));
    c.values = {Bits(count, encode(c.dtype, -0.5F)), Bits(count, encode(c.dtype, 0.25F))};
    for (std::size_t i = 0; i < activations.size(); ++i) {
      c.values[0].at((i + shift) % count) = activations[i];
      c.values[1].at((i + shift) % count) = gradients[i];
    }
    ASSERT_EQ(difference(c, factories_, serial_executor()), "") << text_of(c);
  }

  /// All pairs of a special activation and a special gradient.
  static void all_pairs(DataType dtype, Bits& activations, Bits& gradients) {
    for (const std::uint32_t activation : special_activations(dtype)) {
      for (const std::uint32_t gradient : special_elements(dtype)) {
        activations.push_back(activation);
        gradients.push_back(gradient);
      }
    }
  }

  Factories factories_ = all_factories();
};

TEST_P(SpecialInputs, EluBackward) {
  Bits activations;
  Bits gradients;
  all_pairs(GetParam(), activations, gradients);
  for (const float alpha : {0.0F, 0x1p-149F, 0x1p-126F, 0.37F, 1.0F, 1.6732632F, 2.0F, largest, infinity}) {
    for (const bool use_dst : {false, true}) {
      // A partial vector follows; each shift brings other pairs to each lane.
      StridedCase c{.is_elu = true, .dtype = GetParam(), .alpha = alpha, .use_dst = use_dst};
      c.dims = {static_cast<std::int64_t>(activations.size()) + 5};
      c.strides = {Dims{1}, Dims{1}, Dims{1}};
      for (const std::size_t shift : {0U, 1U, 7U, 15U}) {
        check_shifted(c, activations, gradients, shift);
      }
    }
  }
}

/// One special pair along each axis; the others of it are common.
TEST_P(SpecialInputs, LogSoftmaxBackward) {
  Bits activations;
  Bits gradients;
  all_pairs(GetParam(), activations, gradients);
  const auto lines = static_cast<std::int64_t>(activations.size());
  for (const std::int64_t length : {1, 3, 16, 17, 33, 67}) {
    for (const std::int64_t place : {std::int64_t{0}, length / 2, length - 1}) {
      for (const bool last_axis : {true, false}) {
        StridedCase c{.is_elu = false, .dtype = GetParam(), .axis = last_axis ? 1 : 0};
        c.dims = last_axis ? Dims{lines, length} : Dims{length, lines};
        const Dims strides = dense_strides(c.dims);
        c.strides = {strides, strides, strides};
        const auto count = static_cast<std::size_t>(lines * length);
        c.values = {Bits(count, encode(c.dtype, -0.5F)), Bits(count, encode(c.dtype, 0.25F))};
        for (std::int64_t line = 0; line < lines; ++line) {
          const auto at = static_cast<std::size_t>(last_axis ? line * length + place : place * lines + line);
          c.values[0][at] = activations[static_cast<std::size_t>(line)];
          c.values[1][at] = gradients[static_cast<std::size_t>(line)];
        }
        ASSERT_EQ(difference(c, factories_, serial_executor()), "")
            << (last_axis ? "last" : "first") << " axis of " << length << ", special at " << place;
      }
    }
  }
}

/// Two in the same lane of different vectors: neither hides the other from what looks for them.
TEST_P(SpecialInputs, LogSoftmaxBackwardWithTwoInALane) {
  const Bits specials = special_activations(GetParam());
  const auto kinds = static_cast<std::int64_t>(specials.size());
  constexpr std::int64_t length = 200;
  for (const std::size_t distance : {8U, 16U}) {
    StridedCase c{.is_elu = false, .dtype = GetParam(), .axis = 1};
    c.dims = {kinds * kinds, length};
    const Dims strides = dense_strides(c.dims);
    c.strides = {strides, strides, strides};
    const auto count = static_cast<std::size_t>(elements_of(c));
    c.values = {Bits(count, encode(c.dtype, -0.5F)), Bits(count, encode(c.dtype, 0.25F))};
    std::size_t first = 3;
    for (const std::uint32_t one : specials) {
      for (const std::uint32_t other : specials) {
        c.values[0][first] = one;
        c.values[0][first + distance] = other;
        first += length;
      }
    }
    ASSERT_EQ(difference(c, factories_, serial_executor()), "") << "at a distance of " << distance;
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, SpecialInputs,
                         testing::Values(DataType::f32, DataType::bf16, DataType::f16),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace gradjit::test
