#include "tools/gradjit/sixteen_bits.hpp"

#include <bit>
#include <cmath>

namespace gradjit::tool {
namespace {

constexpr std::uint32_t magnitude_mask = 0x7fffffff;
constexpr std::uint32_t infinity_bits = 0x7f800000;

/// `value` without its lowest `count` bits, rounded to nearest, ties to even.
std::uint32_t shift_and_round(std::uint32_t value, unsigned count) {
  const std::uint32_t half = (std::uint32_t{1} << count) / 2;
  const std::uint32_t odd = value >> count & 1;
  return (value + half - 1 + odd) >> count;
}

}  // namespace

std::uint16_t bf16_from(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  constexpr std::uint32_t quiet = 0x40;
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | quiet);
  return static_cast<std::uint16_t>(shift_and_round(bits, 16));
}

std::uint16_t f16_from(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & magnitude_mask;
  const auto with_sign = [sign](std::uint32_t half) { return static_cast<std::uint16_t>(sign | half); };
  if (magnitude > infinity_bits) return with_sign(0x7e00);
  constexpr std::uint32_t smallest_overflow = 0x477ff000;  // 65520, halfway between 65504 and 65536
  if (magnitude >= smallest_overflow) return with_sign(0x7c00);
  const std::uint32_t exponent = magnitude >> 23;
  constexpr std::uint32_t smallest_normal_exponent = 127 - 14;
  if (exponent >= smallest_normal_exponent) {
    return with_sign(shift_and_round(magnitude - ((smallest_normal_exponent - 1) << 23), 13));
  }
  constexpr std::uint32_t smallest_exponent = smallest_normal_exponent - 11;
  if (exponent < smallest_exponent) return with_sign(0);
  const std::uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
  return with_sign(shift_and_round(significand, 13 + smallest_normal_exponent - exponent));
}

float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float float_from_f16(std::uint16_t bits) {
  const unsigned exponent = bits >> 10 & 0x1f;
  const unsigned fraction = bits & 0x3ff;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1f) {
    const auto payload = static_cast<std::uint32_t>(fraction) << 13;
    return std::copysign(std::bit_cast<float>(infinity_bits | payload), sign);
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction | 0x400), static_cast<int>(exponent) - 25);
}

}  // namespace gradjit::tool
