#pragma once

#include <cstdint>
#include <random>

#include <gradjit/types.hpp>

namespace gradjit::test {

// Elements as the bits that they have in memory, in the low part of 32.

/// The bits of a value of `dtype` nearest to `value` (for values that are no NaN). Unlike a result, a bf16
/// subnormal is kept.
[[nodiscard]] std::uint32_t encode(DataType dtype, float value);
/// Exact.
[[nodiscard]] float decode(DataType dtype, std::uint32_t bits);
[[nodiscard]] bool is_nan(DataType dtype, std::uint32_t bits);

/// Mostly numbers that training sees, about 0 or, if `negative`, below it. One in `special_one_in` (none for
/// 0) is special: any bits at all, or an infinity, a zero, a subnormal, an exp out of range.
[[nodiscard]] std::uint32_t random_element(DataType dtype, std::mt19937& random, int special_one_in,
                                           bool negative);

}  // namespace gradjit::test
