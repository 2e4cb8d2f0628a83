// Special values in the first lane, in the last and in a partial vector: what comes out is fixed by the
// definition, not only the same on every instruction set.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/kernel_case.hpp"

namespace gradjit::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float largest = std::numeric_limits<float>::max();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

/// One element's inputs and what must come out; NaN stands for any NaN.
struct Expectation {
  std::string what;
  float alpha;
  bool use_dst;
  float activation;
  float diff_dst;
  float expected;
};

const std::vector<Expectation>& expectations() {
  static const std::vector<Expectation> all{
      {"+0 src is not positive", 0.5F, false, 0.0F, 4.0F, 2.0F},
      {"-0 src", 0.5F, false, -0.0F, 4.0F, 2.0F},
      {"src just above 0", 0.5F, false, 0x1p-14F, 4.0F, 4.0F},
      {"src = 100, alpha 0", 0.0F, false, 100.0F, 3.0F, 3.0F},
      {"src = 100, alpha 1", 1.0F, false, 100.0F, 3.0F, 3.0F},
      {"src = inf", 1.0F, false, infinity, 3.0F, 3.0F},
      {"an infinite gradient where src > 0", 1.0F, false, 1.0F, infinity, infinity},
      {"alpha 0 gives zeros of the gradient's sign", 0.0F, false, -1.0F, -3.0F, -0.0F},
      {"alpha 0 and -inf", 0.0F, false, -infinity, 3.0F, 0.0F},
      {"an infinite gradient, alpha 0", 0.0F, false, -1.0F, infinity, nan_value},
      {"NaN src, alpha 0", 0.0F, false, nan_value, 3.0F, nan_value},
      {"NaN src", 1.0F, false, nan_value, 3.0F, nan_value},
      {"NaN gradient", 1.0F, false, -1.0F, nan_value, nan_value},
      {"NaN gradient where src > 0", 1.0F, false, 1.0F, nan_value, nan_value},
      {"NaN src with a zero gradient", 1.0F, false, nan_value, 0.0F, nan_value},
      {"-inf src", 1.0F, false, -infinity, 3.0F, 0.0F},
      {"-inf src, negative gradient", 1.0F, false, -infinity, -3.0F, -0.0F},
      {"src far below 0", 1.0F, false, -1000.0F, 3.0F, 0.0F},
      {"a zero gradient", 1.0F, false, -1.0F, -0.0F, -0.0F},
      {"alpha = inf", infinity, false, -1.0F, 3.0F, infinity},
      {"alpha = inf, src > 0", infinity, false, 1.0F, 3.0F, 3.0F},
      {"alpha = inf, zero gradient", infinity, false, -1.0F, 0.0F, nan_value},
      {"alpha = inf, src = -inf: inf * 0", infinity, false, -infinity, 3.0F, nan_value},
      {"dst = -1, alpha 1", 1.0F, true, -1.0F, 3.0F, 0.0F},
      {"dst = -1, alpha 1, negative gradient", 1.0F, true, -1.0F, -3.0F, -0.0F},
      {"dst > 0", 1.0F, true, 2.0F, 3.0F, 3.0F},
      {"NaN dst", 1.0F, true, nan_value, 3.0F, nan_value},
      {"dst = -0, alpha 0: a sum of +0", 0.0F, true, -0.0F, 3.0F, 0.0F},
      {"alpha = inf from dst", infinity, true, -1.0F, 3.0F, infinity},
      {"alpha the largest number, from src", largest, false, -0.0F, 0x1p-14F, largest * 0x1p-14F},
  };
  return all;
}

class SpecialValues : public testing::TestWithParam<DataType> {};

std::uint32_t bits_of(DataType dtype, float value) {
  return std::isnan(value) ? encode(dtype, infinity) + 1U : encode(dtype, value);
}

TEST_P(SpecialValues, EluBackward) {
  const DataType dtype = GetParam();
  for (const Expectation& e : expectations()) {
    const std::uint32_t expected = encode(dtype, e.expected);
    if (dtype == DataType::f16 && std::abs(e.expected) > 65504 && !std::isinf(e.expected)) {
      continue;  // beyond f16
    }
    // One special element among common ones, at every place of three vectors and a partial one.
    for (std::size_t place = 0; place < 53; ++place) {
      KernelCase c{.is_elu = true, .dtype = dtype, .dims = {53}, .alpha = e.alpha, .use_dst = e.use_dst};
      Inputs inputs{std::vector(53, bits_of(dtype, -0.5F)), std::vector(53, bits_of(dtype, 1.0F))};
      inputs.activation[place] = bits_of(dtype, e.activation);
      inputs.diff_dst[place] = bits_of(dtype, e.diff_dst);
      expect_same_bits(c, inputs);
      const std::uint32_t result = run(c, inputs, Isa::portable, GuardedBuffer::Guard::after)[place];
      if (std::isnan(e.expected)) {
        ASSERT_TRUE(is_nan(dtype, result)) << e.what << " gave 0x" << std::hex << result;
      } else {
        ASSERT_EQ(result, expected) << e.what << ", " << text_of(c);
      }
    }
  }
}

/// A NaN in a row makes the whole row NaN, and no other.
TEST_P(SpecialValues, LogSoftmaxBackwardNanStaysInItsRow) {
  const DataType dtype = GetParam();
  for (const std::int64_t length : {1, 3, 10, 16, 31, 33, 100, 300}) {
    for (const std::int64_t axis : {0, 1}) {
      const std::int64_t lines = 18;
      KernelCase c{.is_elu = false, .dtype = dtype, .axis = axis};
      c.dims = axis == 1 ? Dims{lines, length} : Dims{length, lines};
      const auto total = static_cast<std::size_t>(lines * length);
      const auto at = [&](std::int64_t line, std::int64_t i) {
        return static_cast<std::size_t>(axis == 1 ? line * length + i : i * lines + line);
      };
      Inputs inputs{std::vector(total, bits_of(dtype, -1.0F)), std::vector(total, bits_of(dtype, 0.5F))};
      inputs.diff_dst[at(7, length - 1)] = bits_of(dtype, nan_value);
      inputs.activation[at(9, 0)] = bits_of(dtype, nan_value);
      expect_same_bits(c, inputs);
      const auto results = run(c, inputs, Isa::portable, GuardedBuffer::Guard::after);
      for (std::int64_t line = 0; line < lines; ++line) {
        for (std::int64_t i = 0; i < length; ++i) {
          const bool expected = line == 7 || (line == 9 && i == 0);
          ASSERT_EQ(is_nan(dtype, results[at(line, i)]), expected)
              << text_of(c) << " line " << line << " " << i;
        }
      }
    }
  }
}

/// exp(dst) that is zero, subnormal, large, infinite.
TEST_P(SpecialValues, LogSoftmaxBackwardExtremeDst) {
  const DataType dtype = GetParam();
  for (const float dst : {-infinity, -1000.0F, -104.0F, -95.0F, -88.0F, -86.5F, -0.0F, 0.0F, 80.0F, 87.5F,
                          88.5F, 89.0F, 1000.0F, infinity}) {
    for (const std::int64_t length : {5, 20, 70}) {
      KernelCase c{.is_elu = false, .dtype = dtype, .dims = {17, length}};
      const auto total = static_cast<std::size_t>(17 * length);
      Inputs inputs{std::vector(total, bits_of(dtype, -2.0F)), std::vector(total, bits_of(dtype, 0.25F))};
      for (std::size_t i = 0; i < total; i += 3) {
        inputs.activation[i] = bits_of(dtype, dst);
      }
      expect_same_bits(c, inputs);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, SpecialValues,
                         testing::Values(DataType::f32, DataType::bf16, DataType::f16),
                         [](const auto& test) { return std::string(name_of(test.param)); });

/// What AVX512_BF16's instructions do at the border of what becomes zero, on every path. diff_src is
/// (dst + alpha) * diff_dst in f32, then rounded.
TEST(Bf16Border, ResultsBelowTheSmallestNormalBecomeZeros) {
  struct Border {
    float alpha;
    float dst;
    float diff_dst;
    std::uint32_t expected;
  };
  const Border borders[] = {
      {1.0F, -0.0F, 0x1p-126F, 0x0080},             // the smallest normal stays
      {1.0F, -0.5F, 0x1p-126F, 0x0000},             // half of it is flushed
      {1.0F, -0.5F, -0x1p-126F, 0x8000},            // with its sign
      {1.0F, -0x1p-7F, 0x1p-126F, 0x0000},          // 127/128 of it, a bf16 subnormal, too
      {1.0F, -0x1p-8F, 0x1p-126F, 0x0000},          // 255/256 would round up to it: flushed before
      {1.0F, -0x1p-8F, 0x1.02p-126F, 0x0080},       // above it after the multiplication: rounds, stays
      {0x1.fffffcp-1F, -0.0F, 0x1p-126F, 0x0000},   // the largest f32 below it
      {0x1.fffffcp-1F, -0.0F, -0x1p-126F, 0x8000},  //
      {0x1.fffffep-1F, -0.0F, 0x1p-126F, 0x0080},   // f32's own rounding makes it the smallest normal
      {0x1.000002p+0F, -0.0F, 0x1p-126F, 0x0080},   // the f32 next above it
      {1.0F, -0.5F, 0x1p-125F, 0x0080},
  };
  for (const Border& border : borders) {
    KernelCase c{
        .is_elu = true, .dtype = DataType::bf16, .dims = {37}, .alpha = border.alpha, .use_dst = true};
    Inputs inputs{std::vector(37, encode(DataType::bf16, border.dst)),
                  std::vector(37, encode(DataType::bf16, border.diff_dst))};
    expect_same_bits(c, inputs);
    EXPECT_EQ(run(c, inputs, Isa::portable, GuardedBuffer::Guard::after)[0], border.expected)
        << "(" << border.dst << " + " << border.alpha << ") * " << border.diff_dst;
  }
}

/// f16 and f32 keep their subnormals on every path.
TEST(Subnormals, AreKept) {
  KernelCase half{.is_elu = true, .dtype = DataType::f16, .dims = {37}, .alpha = 1.0F, .use_dst = true};
  const Inputs f16{std::vector(37, encode(DataType::f16, -0.5F)), std::vector<std::uint32_t>(37, 0x0006)};
  expect_same_bits(half, f16);
  EXPECT_EQ(run(half, f16, Isa::portable, GuardedBuffer::Guard::after)[0], 0x0003U);
  KernelCase single = half;
  single.dtype = DataType::f32;
  const Inputs f32{std::vector(37, encode(DataType::f32, -0.5F)), std::vector<std::uint32_t>(37, 0x0006)};
  expect_same_bits(single, f32);
  EXPECT_EQ(run(single, f32, Isa::portable, GuardedBuffer::Guard::after)[0], 0x0003U);
}

}  // namespace
}  // namespace gradjit::test
