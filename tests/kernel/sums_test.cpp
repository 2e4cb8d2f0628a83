// Sums that break naive code. The expected values are worked out in long double.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/kernel_case.hpp"

namespace gradjit::test {
namespace {

/// Half an ulp of the type at `value`; 0 for f32.
double half_ulp(DataType dtype, double value) {
  if (dtype == DataType::f32) {
    return 0;
  }
  const int digits = dtype == DataType::bf16 ? 7 : 10;
  const int lowest = dtype == DataType::bf16 ? -126 : -14;
  return std::ldexp(0.5, std::max(value == 0 ? lowest : std::ilogb(value), lowest) - digits);
}

/// Every element within the bound, along either axis, with the same bits on every instruction set.
void check_row(DataType dtype, std::int64_t length, float dst,
               const std::function<float(std::int64_t)>& diff_dst) {
  for (const std::int64_t columns : {1, 2}) {
    KernelCase c{.is_elu = false, .dtype = dtype, .dims = {length, columns}, .axis = 0};
    Inputs inputs;
    long double sum = 0;
    long double magnitudes = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t column = 0; column < columns; ++column) {
        inputs.activation.push_back(encode(dtype, dst));
        inputs.diff_dst.push_back(encode(dtype, diff_dst(i)));
      }
      const float g = decode(dtype, inputs.diff_dst.back());
      sum += g;
      magnitudes += std::abs(g);
    }
    expect_same_bits(c, inputs);
    const auto results = run(c, inputs, Isa::portable, GuardedBuffer::Guard::after);
    const long double exp_dst = std::exp(static_cast<long double>(decode(dtype, inputs.activation[0])));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const float g = decode(dtype, inputs.diff_dst[i]);
      const auto expected = static_cast<double>(g - exp_dst * sum);
      const auto bound = static_cast<double>(0x1p-23L * (std::abs(g) + 4 * exp_dst * magnitudes) +
                                             0x1p-149L * (1 + std::abs(sum)));
      ASSERT_LE(std::abs(decode(dtype, results[i]) - expected),
                bound + half_ulp(dtype, std::abs(expected) + bound))
          << text_of(c) << " element " << i;
    }
  }
}

TEST(Sums, F16RowOfOnes) {
  check_row(DataType::f16, 131072, -11.78125F, [](std::int64_t) { return 1.0F; });
}

/// A sum in bf16 would stick at 256.
TEST(Sums, Bf16RowOfOnes) {
  check_row(DataType::bf16, 512, -6.25F, [](std::int64_t) { return 1.0F; });
}

TEST(Sums, LongF32Ramp) {
  const std::int64_t length = 4096000;
  check_row(DataType::f32, length, -15.0F,
            [](std::int64_t i) { return static_cast<float>(static_cast<double>(i) - 2048000.0 + 0.5); });
}

TEST(Sums, LargeAlternatingPlusSmall) {
  for (const std::int64_t length : {30, 1000, 70000}) {
    check_row(DataType::f32, length, -3.0F, [](std::int64_t i) {
      return i % 3 == 2 ? static_cast<float>(i % 17) * 0.01F : (i % 3 == 0 ? 1e8F : -1e8F);
    });
  }
}

}  // namespace
}  // namespace gradjit::test
