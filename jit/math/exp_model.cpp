#include "jit/math/exp_model.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace gradjit::jit {

namespace {

constexpr double ln2 = 0.693147180559945309417;
/// ln 2 to 15 bits, so that its product with any n here is exact, and the rest.
constexpr float ln2_high = 0x1.62e4p-1F;
constexpr auto ln2_low = static_cast<float>(ln2 - static_cast<double>(ln2_high));

/// Coefficients of e^r on |r| <= ln 2 / 2, of least greatest relative error (Remez' algorithm). The
/// first is 1 in each; in degree 6 and in the table's quartic (|r| <= ln 2 / 8) so is the second,
/// which keeps both exact in f32.
constexpr std::array<double, 7> degree_6{1.0,
                                         1.0,
                                         0.49999993451111643293,
                                         0.16666520680965190552,
                                         0.041668387465626255197,
                                         0.0083687109007185751718,
                                         0.001381461103092931443};
constexpr std::array<double, 6> degree_5{1.0,
                                         0.99999372396683477213,
                                         0.4999937545604327466,
                                         0.16687655553705809511,
                                         0.041875278399637614583,
                                         0.006953326328908985306};
constexpr std::array<double, 5> degree_4{1.0, 0.99993962462621670766, 0.49998994821684904817,
                                         0.16817314686789022861, 0.041917537362881387054};
constexpr std::array<double, 5> table_quartic{1.0, 1.0, 0.50000020400806841058, 0.16672105712811371197,
                                              0.041641747716238961319};

/// A positive finite float as mantissa * 2^exponent, mantissa in [1, 2).
struct Split {
  float mantissa;
  int exponent;
};

Split split(float value) {
  int exponent = 0;
  const float half = std::frexp(value, &exponent);
  return {2 * half, exponent - 1};
}

void set_polynomial(ExpModel& model, std::span<const double> coefficients, float scale) {
  model.degree = static_cast<int>(coefficients.size()) - 1;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    model.coefficients[i] = static_cast<float>(coefficients[i] * static_cast<double>(scale));
  }
}

void set_table(ExpModel& model, float scale) {
  model.table_bits = 2;
  set_polynomial(model, table_quartic, 1.0F);
  for (std::size_t j = 0; j < model.table.size(); ++j) {
    const double entry = static_cast<double>(scale) * std::exp2(static_cast<double>(j) / 4);
    model.table[j] = static_cast<float>(entry);
    model.table_low[j] = static_cast<float>(entry - static_cast<double>(model.table[j]));
  }
}

void set_reduction(ExpModel& model, int scale_exponent, bool two_steps) {
  model.two_step_reduction = two_steps;
  model.log2e = static_cast<float>(1 / ln2);
  model.unbiased_magic = std::ldexp(1.5F, 23 - model.table_bits);
  model.magic = model.unbiased_magic + static_cast<float>(127 + scale_exponent);
  model.minus_ln2_high = two_steps ? -ln2_high : -static_cast<float>(ln2);
  model.minus_ln2_low = two_steps ? -ln2_low : 0.0F;
}

/// The x from which on floor(x / ln 2) + scale_exponent is at least `exponent`.
float argument_of(int exponent, int scale_exponent) {
  return static_cast<float>((exponent - scale_exponent) * ln2);
}

}  // namespace

ExpModel elu_exp_model(DataType dtype, float alpha) {
  const auto [mantissa, exponent] = split(alpha);
  ExpModel model;
  if (dtype == DataType::f32) {
    if (mantissa == 1.0F) {
      set_polynomial(model, degree_6, 1.0F);
    } else {
      set_table(model, mantissa);
    }
  } else if (dtype == DataType::f16) {
    set_polynomial(model, degree_5, mantissa);
  } else {
    set_polynomial(model, degree_4, mantissa);
  }
  set_reduction(model, exponent, dtype == DataType::f32);
  model.fast_from = argument_of(lowest_single_exponent + 1, exponent);
  // p * 2^-300 * g is less than half the smallest subnormal for every finite g.
  model.lowest = argument_of(-300, exponent);
  model.highest = std::numeric_limits<float>::infinity();  // src > 0 does not use the product
  return model;
}

ExpModel log_softmax_exp_model() {
  ExpModel model;
  set_polynomial(model, degree_6, 1.0F);
  set_reduction(model, 0, true);
  model.lowest = argument_of(-151, 0);
  model.highest = argument_of(129, 0);
  return model;
}

}  // namespace gradjit::jit
