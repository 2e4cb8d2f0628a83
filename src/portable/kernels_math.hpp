#pragma once

#ifdef __FAST_MATH__
#error "gradjit's numerics need IEEE arithmetic: build it without -ffast-math"
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "jit/math/exp_model.hpp"
#include "src/portable/element.hpp"

namespace gradjit::detail::portable {
inline namespace GRADJIT_PORTABLE_NAMESPACE {

/// scale * exp(x) = p * 2^exponent.
struct ScaledExp {
  float p;
  int exponent;
};

/// The steps of `jit::ExpModel` for one kind of model, known to the compiler so that loops become vector
/// code.
template <int table_bits, int degree, bool two_step_reduction>
struct ExpSteps {
  jit::ExpModel model;

  [[nodiscard]] ScaledExp operator()(float x) const {
    x = model.lowest > x ? model.lowest : x;  // written so that NaN stays, as vmaxps and vminps do
    x = model.highest < x ? model.highest : x;
    const float t = std::fma(x, model.log2e, model.magic);
    const float n = t - model.magic;
    float r = std::fma(n, model.minus_ln2_high, x);
    if constexpr (two_step_reduction) {
      r = std::fma(n, model.minus_ln2_low, r);
    }
    const auto low_bits = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(t) -
                                                    std::bit_cast<std::uint32_t>(model.unbiased_magic));
    return {significand(r, low_bits), (low_bits >> table_bits) - 127};
  }

 private:
  [[nodiscard]] float significand(float r, std::int32_t low_bits) const {
    const auto& c = model.coefficients;
    if constexpr (table_bits == 0) {
      float p = c[degree];
#pragma GCC unroll 8
      for (int i = degree - 1; i >= 0; --i) {
        p = std::fma(p, r, c[i]);
      }
      return p;
    } else {
      const float curve = std::fma(std::fma(c[4], r, c[3]), r, c[2]);
      const float q = std::fma(r, r * curve, r);
      const auto j = static_cast<std::uint32_t>(low_bits & 3);
      return model.table[j] + std::fma(model.table[j], q, model.table_low[j]);
    }
  }
};

using DegreeSixExp = ExpSteps<0, 6, true>;

/// Calls `use` with the steps of `model`.
template <typename Use>
void with_steps_of(const jit::ExpModel& model, Use use) {
  if (model.table_bits == 2) {
    use(ExpSteps<2, 4, true>{model});
  } else if (model.degree == 6) {
    use(DegreeSixExp{model});
  } else if (model.degree == 5) {
    use(ExpSteps<0, 5, false>{model});
  } else {
    use(ExpSteps<0, 4, false>{model});
  }
}

/// 2^exponent, for exponents of normal numbers.
inline float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// g * alpha * exp(src) for src <= 0: one multiplication scales where that is exact; the rest of a very
/// low exponent comes after g, in two steps, since it may be below f32's range and g may be large.
inline float times_scaled_exp(float g, const ScaledExp& e) {
  const int first = std::max(e.exponent, jit::lowest_single_exponent);
  const int rest = e.exponent - first;
  const int half = rest >> 1;
  return e.p * power_of_two(first) * g * power_of_two(half) * power_of_two(rest - half);
}

/// exp(dst): two exact steps, then the last rounds (to a subnormal, or to infinity).
inline float exp_of(const DegreeSixExp& steps, float x) {
  const ScaledExp e = steps(x);
  const int half = e.exponent >> 1;
  return e.p * power_of_two(half) * power_of_two(e.exponent - half);
}

/// Sums eight floats, `step` apart, as a tree: at most three roundings deep.
inline float sum_of_eight(const float* v, int step) {
  const auto pair = [v, step](int i) { return v[i * step] + v[(i + 1) * step]; };
  return (pair(0) + pair(2)) + (pair(4) + pair(6));
}

/// Adds the upper half of `lanes` to the lower until one is left, from `distance` on.
template <typename T>
T fold(T* lanes, int distance) {
  for (; distance > 0; distance /= 2) {
    for (int i = 0; i < distance; ++i) {
      lanes[i] += lanes[i + distance];
    }
  }
  return lanes[0];
}

}  // namespace GRADJIT_PORTABLE_NAMESPACE
}  // namespace gradjit::detail::portable
