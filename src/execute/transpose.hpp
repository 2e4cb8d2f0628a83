#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gradjit::detail {

/// What a copy moves at a time: one element, or several that lie side by side in both buffers.
using Unit2 = std::uint16_t;
using Unit4 = std::uint32_t;
using Unit8 = std::uint64_t;
struct Unit16 {
  std::uint64_t halves[2];
};

template <typename Unit>
inline Unit load_unit(const std::byte* from) {
  Unit unit;
  std::memcpy(&unit, from, sizeof(unit));
  return unit;
}

template <typename Unit>
inline void store_unit(std::byte* to, Unit unit) {
  std::memcpy(to, &unit, sizeof(unit));
}

/// Transposes a square of `side` × `side` units: unit j of row i goes to unit i of row j. `to_pitch` and
/// `from_pitch` are the bytes between rows. All is read before anything is written.
template <typename Unit>
struct Square;

template <>
struct Square<Unit2> {
  static constexpr std::int64_t side = 8;

  static void transpose(std::byte* to, std::int64_t to_pitch, const std::byte* from,
                        std::int64_t from_pitch) {
    __m128i row[8];
    for (int i = 0; i < 8; ++i) {
      row[i] = load_unit<__m128i>(from + i * from_pitch);
    }
    __m128i pair[8];  // Units of rows 2i and 2i + 1 alternate; the lower half of the columns, the upper.
    for (int i = 0; i < 4; ++i) {
      pair[i] = _mm_unpacklo_epi16(row[2 * i], row[2 * i + 1]);
      pair[i + 4] = _mm_unpackhi_epi16(row[2 * i], row[2 * i + 1]);
    }
    for (int half = 0; half < 2; ++half) {
      const __m128i* p = pair + 4 * half;
      const __m128i low01 = _mm_unpacklo_epi32(p[0], p[1]);
      const __m128i high01 = _mm_unpackhi_epi32(p[0], p[1]);
      const __m128i low23 = _mm_unpacklo_epi32(p[2], p[3]);
      const __m128i high23 = _mm_unpackhi_epi32(p[2], p[3]);
      std::byte* rows = to + 4 * half * to_pitch;
      store_unit(rows, _mm_unpacklo_epi64(low01, low23));
      store_unit(rows + to_pitch, _mm_unpackhi_epi64(low01, low23));
      store_unit(rows + 2 * to_pitch, _mm_unpacklo_epi64(high01, high23));
      store_unit(rows + 3 * to_pitch, _mm_unpackhi_epi64(high01, high23));
    }
  }
};

template <>
struct Square<Unit4> {
  static constexpr std::int64_t side = 4;

  static void transpose(std::byte* to, std::int64_t to_pitch, const std::byte* from,
                        std::int64_t from_pitch) {
    const auto row0 = load_unit<__m128i>(from);
    const auto row1 = load_unit<__m128i>(from + from_pitch);
    const auto row2 = load_unit<__m128i>(from + 2 * from_pitch);
    const auto row3 = load_unit<__m128i>(from + 3 * from_pitch);
    const __m128i low01 = _mm_unpacklo_epi32(row0, row1);
    const __m128i high01 = _mm_unpackhi_epi32(row0, row1);
    const __m128i low23 = _mm_unpacklo_epi32(row2, row3);
    const __m128i high23 = _mm_unpackhi_epi32(row2, row3);
    store_unit(to, _mm_unpacklo_epi64(low01, low23));
    store_unit(to + to_pitch, _mm_unpackhi_epi64(low01, low23));
    store_unit(to + 2 * to_pitch, _mm_unpacklo_epi64(high01, high23));
    store_unit(to + 3 * to_pitch, _mm_unpackhi_epi64(high01, high23));
  }
};

template <>
struct Square<Unit8> {
  static constexpr std::int64_t side = 2;

  static void transpose(std::byte* to, std::int64_t to_pitch, const std::byte* from,
                        std::int64_t from_pitch) {
    const auto row0 = load_unit<__m128i>(from);
    const auto row1 = load_unit<__m128i>(from + from_pitch);
    store_unit(to, _mm_unpacklo_epi64(row0, row1));
    store_unit(to + to_pitch, _mm_unpackhi_epi64(row0, row1));
  }
};

template <>
struct Square<Unit16> {
  static constexpr std::int64_t side = 1;

  static void transpose(std::byte* to, std::int64_t, const std::byte* from, std::int64_t) {
    store_unit(to, load_unit<Unit16>(from));
  }
};

}  // namespace gradjit::detail
