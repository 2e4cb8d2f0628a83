#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include <gradjit/types.hpp>

// The portable kernels are compiled for several kinds of CPU. What they inline gets a namespace of its own in
// each, so that the linker cannot put one build's copy into another.
#ifndef GRADJIT_PORTABLE_NAMESPACE
#define GRADJIT_PORTABLE_NAMESPACE common
#endif

namespace gradjit::detail::portable {
inline namespace GRADJIT_PORTABLE_NAMESPACE {

/// bf16 to f32: exact, subnormals too.
inline float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

/// f32 to bf16 as AVX512_BF16's vcvtneps2bf16 does it: to nearest, ties to even; a value below 2^-126
/// becomes a zero of its sign, before rounding; a NaN stays one.
inline std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<std::uint16_t>(bits >> 16 | 0x0040U);
  }
  if (magnitude < 0x00800000U) {
    return static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

/// f16 to f32: exact, subnormals too.
inline float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  if (magnitude >= 0x7C00U) {  // infinity or NaN
    return std::bit_cast<float>(sign | 0x7F800000U | (magnitude & 0x03FFU) << 13);
  }
  if (magnitude < 0x0400U) {  // subnormal: a multiple of 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
}

/// f32 to f16: to nearest, ties to even, subnormals kept, overflow to infinity.
inline std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<std::uint16_t>(sign | 0x7E00U | (magnitude >> 13 & 0x03FFU));
  }
  if (magnitude >= 0x477FF000U) {  // rounds to 2^16 or above
    return static_cast<std::uint16_t>(sign | 0x7C00U);
  }
  if (magnitude < 0x38800000U) {
    // Below 2^-14: adding 2^-1, whose last place is 2^-24, rounds as the subnormal grid does.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(rounded) - 0x3F000000U));
  }
  const std::uint32_t rounded = magnitude - 0x38000000U + 0x0FFFU + (magnitude >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | rounded >> 13);
}

/// Reads and writes elements of one type as f32.
template <DataType dtype>
struct Element;

template <>
struct Element<DataType::f32> {
  static constexpr std::int64_t size = 4;
  static float load(const std::byte* from) {
    float value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  static void store(std::byte* to, float value) { std::memcpy(to, &value, sizeof(value)); }
};

/// The part that bf16 and f16 share.
template <float (*widen)(std::uint16_t), std::uint16_t (*narrow)(float)>
struct HalfElement {
  static constexpr std::int64_t size = 2;
  static float load(const std::byte* from) {
    std::uint16_t bits;
    std::memcpy(&bits, from, sizeof(bits));
    return widen(bits);
  }
  static void store(std::byte* to, float value) {
    const std::uint16_t bits = narrow(value);
    std::memcpy(to, &bits, sizeof(bits));
  }
};

template <>
struct Element<DataType::bf16> : HalfElement<bf16_to_f32, f32_to_bf16> {};
template <>
struct Element<DataType::f16> : HalfElement<f16_to_f32, f32_to_f16> {};

}  // namespace GRADJIT_PORTABLE_NAMESPACE
}  // namespace gradjit::detail::portable
