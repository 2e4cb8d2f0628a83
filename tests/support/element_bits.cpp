#include "tests/support/element_bits.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "src/portable/element.hpp"

namespace gradjit::test {
namespace {

float special_value(std::mt19937& random) {
  constexpr std::array values{0.0F,
                              -0.0F,
                              1e-40F,
                              -1e-40F,
                              std::numeric_limits<float>::min(),
                              -86.0F,
                              -88.0F,
                              -95.0F,
                              -104.0F,
                              -1000.0F,
                              -3e38F,
                              -65504.F,
                              1e-5F,
                              -1e-5F,
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()};
  return values.at(random() % values.size());
}

}  // namespace

std::uint32_t encode(DataType dtype, float value) {
  switch (dtype) {
    case DataType::f32:
      return std::bit_cast<std::uint32_t>(value);
    case DataType::bf16: {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      return (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
    }
    case DataType::f16:
      return detail::portable::f32_to_f16(value);
  }
  return 0;
}

float decode(DataType dtype, std::uint32_t bits) {
  const auto half = static_cast<std::uint16_t>(bits);
  switch (dtype) {
    case DataType::f32:
      return std::bit_cast<float>(bits);
    case DataType::bf16:
      return detail::portable::bf16_to_f32(half);
    case DataType::f16:
      return detail::portable::f16_to_f32(half);
  }
  return 0;
}

bool is_nan(DataType dtype, std::uint32_t bits) {
  switch (dtype) {
    case DataType::f32:
      return (bits & 0x7FFFFFFFU) > 0x7F800000U;
    case DataType::bf16:
      return (bits & 0x7FFFU) > 0x7F80U;
    case DataType::f16:
      return (bits & 0x7FFFU) > 0x7C00U;
  }
  return false;
}

std::uint32_t random_element(DataType dtype, std::mt19937& random, int special_one_in, bool negative) {
  const std::uint32_t used = dtype == DataType::f32 ? 0xFFFFFFFFU : 0xFFFFU;
  if (special_one_in > 0 && random() % static_cast<unsigned>(special_one_in) == 0) {
    const bool any_bits = random() % 2 == 0;
    return any_bits ? static_cast<std::uint32_t>(random()) & used : encode(dtype, special_value(random));
  }
  // A sum of four, which is near enough to a normal distribution of deviation 2, and cheap.
  float x = 0;
  for (int i = 0; i < 4; ++i) {
    x += static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31F;
  }
  x *= 1.7F;
  return encode(dtype, negative ? -std::abs(x) : x);
}

}  // namespace gradjit::test
