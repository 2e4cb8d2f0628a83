#pragma once

#include <array>

#include <gradjit/types.hpp>

namespace gradjit::jit {

/// The constants of one scale * exp(x), shared by the portable kernels and the emitters.
///
///     t = fma(x, log2e, magic)            the low bits of t: k = round(x * 2^table_bits / ln 2)
///     n = t - magic                       k / 2^table_bits, exactly
///     r = fma(n, -ln2_high, x)            exact
///     r = fma(n, -ln2_low, r)             with two_step_reduction; else one step of -ln 2
///     p = scale's mantissa * 2^(j / 4) * e^r, j the low table_bits of k
///     scale * exp(x) = p * 2^N, N = floor(k / 2^table_bits) + scale's exponent
///
/// `magic` holds the bias of f32's exponent and scale's exponent, so that t's bits shifted left are
/// the bits of 2^N.
///
/// p without a table is a polynomial in r with scale's mantissa folded into its coefficients (Horner's
/// rule). With the table of 2^(j/4), each entry a sum of two floats, it is
///
///     q = r + r * (r * (c2 + r * (c3 + r * c4)));  p = table + fma(table, q, table_low)
///
/// (r^2 would be a subnormal for |x| from 1e-23 to 1e-19, which takes CPUs 25 times as long.)
///
/// The greatest relative error over every x with a normal result is 0.647 * 2^-23 for the degree 6
/// polynomial where scale is a power of two, and 0.67 * 2^-23 for the table with any scale; folding
/// another scale into the polynomial would bring 0.82 * 2^-23. `gradjit verify` measures it.
struct ExpModel {
  int table_bits = 0;  ///< 0: no table; 2: four entries.
  int degree = 6;
  bool two_step_reduction = true;
  float log2e = 0;
  float magic = 0;
  float unbiased_magic = 0;  ///< `magic` less the bias and scale's exponent.
  float minus_ln2_high = 0;
  float minus_ln2_low = 0;
  std::array<float, 7> coefficients{};
  std::array<float, 4> table{};
  std::array<float, 4> table_low{};

  /// EluBackward's: for x from here to 0, 2^N and p * 2^N are normal numbers, and one multiplication scales.
  float fast_from = 0;
  /// Beyond these, results are the same as at them (zero, or infinite).
  float lowest = 0;
  float highest = 0;
};

/// N below this is applied in further steps, after the multiplication by diff_dst: see
/// `portable/kernels.cpp`.
inline constexpr int lowest_single_exponent = -125;

/// LogSoftmaxBackward's: with n from minus this to this, which is |x| to 86, one multiplication scales.
inline constexpr float greatest_fast_number = 124;

/// alpha * exp(src) of EluBackward, for a finite alpha > 0. bf16 and f16 results get by with shorter
/// polynomials: degrees 4 and 5, relative errors 2^-17.5 and 2^-21.1.
[[nodiscard]] ExpModel elu_exp_model(DataType dtype, float alpha);

/// exp(dst) of LogSoftmaxBackward, to f32's precision for every type.
[[nodiscard]] ExpModel log_softmax_exp_model();

}  // namespace gradjit::jit
