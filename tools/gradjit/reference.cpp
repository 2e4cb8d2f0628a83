#include "tools/gradjit/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gradjit::tool {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double smallest_normal_f32 = 0x1p-126;
/// exp of less may underflow to zero in f32, which with an infinite factor makes a NaN.
constexpr float exp_underflows_below = -104;
constexpr float log_softmax_greatest_dst = 88;
constexpr double log_softmax_greatest_sum = 0x1p127;

struct Format {
  int precision;          ///< Bits of the significand, the leading one included.
  int smallest_exponent;  ///< Of normal numbers; below, ulps stay as they are.
  int greatest_exponent;
};

constexpr Format format_of(DataType dtype) {
  constexpr std::array<Format, 3> formats = {Format{24, -126, 127}, Format{8, -126, 127},
                                             Format{11, -14, 15}};
  return formats[static_cast<std::size_t>(dtype)];
}

/// An infinity counts as the next power of two after the largest number.
double clamp_to_format(double value, DataType dtype) {
  const double end = std::ldexp(1.0, format_of(dtype).greatest_exponent + 1);
  return std::clamp(value, -end, end);
}

double elu_limit(DataType dtype, bool use_dst) {
  if (dtype == DataType::bf16) return 0.505;
  if (dtype == DataType::f16) return 0.51;
  return use_dst ? 1.5 : 2.0;
}

double elu_backward(const Case& source, float activation, float diff_dst) {
  const double g = diff_dst;
  const double alpha = static_cast<float>(source.alpha);
  const double x = activation;
  if (x > 0) return g;
  return source.use_dst ? g * (x + alpha) : g * alpha * std::exp(x);
}

/// The expected results of a file may be those for alpha as the file writes it, as 0.37, or for alpha rounded
/// to f32. From dst, where dst + alpha cancels, the two lie ulps apart: this far. (The result is linear in
/// alpha.)
double shift_by_rounding_alpha(const Case& source, float activation, float diff_dst) {
  const double rounding = static_cast<float>(source.alpha) - source.alpha;
  if (!(activation <= 0) || !std::isfinite(diff_dst) || !std::isfinite(rounding)) return 0;
  return diff_dst * rounding * (source.use_dst ? 1.0 : std::exp(static_cast<double>(activation)));
}

/// The elements of a tensor along one axis are `stride` apart; they start at each offset of an outer block
/// and an inner position.
struct Axis {
  explicit Axis(const Case& source) {
    if (source.dims.empty()) return;
    const auto rank = static_cast<std::int64_t>(source.dims.size());
    const auto axis = static_cast<std::size_t>(source.axis < 0 ? source.axis + rank : source.axis);
    length = static_cast<std::size_t>(source.dims[axis]);
    for (std::size_t i = axis + 1; i < source.dims.size(); ++i)
      stride *= static_cast<std::size_t>(source.dims[i]);
  }

  std::size_t length = 1;
  std::size_t stride = 1;
};

/// The sums that a row's results and their bounds are made of. long double: an axis may have 2^32
/// elements, and a plain sum in double of so many errs by as much as the bound.
struct RowSums {
  long double sum = 0;
  long double sum_of_magnitudes = 0;
  bool has_nan = false;
};

RowSums sum_row(std::span<const float> diff_dst, std::size_t first, const Axis& axis) {
  RowSums sums;
  for (std::size_t k = 0; k < axis.length; ++k) {
    const float g = diff_dst[first + k * axis.stride];
    sums.sum += g;
    sums.sum_of_magnitudes += std::fabs(g);
    sums.has_nan = sums.has_nan || std::isnan(g);
  }
  return sums;
}

/// The bound of log_softmax_backward in f32.
double log_softmax_bound(const RowSums& sums, long double exponential, float diff_dst) {
  const long double magnitudes = std::fabs(diff_dst) + 4 * exponential * sums.sum_of_magnitudes;
  return static_cast<double>(0x1p-23L * magnitudes + 0x1p-149L * (1 + std::fabs(sums.sum)));
}

}  // namespace

double ulp_of(double value, DataType dtype) {
  const Format format = format_of(dtype);
  const int exponent = value == 0 ? format.smallest_exponent : std::ilogb(value);
  const int clamped = std::clamp(exponent, format.smallest_exponent, format.greatest_exponent);
  return std::ldexp(1.0, clamped - format.precision + 1);
}

Reference::Reference(const Case& source, DataType dtype, std::span<const float> activation,
                     std::span<const float> diff_dst)
    : dtype_(dtype),
      operation_(source.operation),
      computed_(dtype != DataType::f32 || source.expected.empty()),
      rules_(source.elements(), Rule::bounded),
      expected_(source.expected),
      units_(source.elements(), 1.0),
      shifts_(source.elements(), 0.0) {
  expected_.resize(source.elements());
  if (operation_ == CaseOperation::elu_backward) {
    describe_elu(source, activation, diff_dst);
  } else {
    describe_log_softmax(source, activation, diff_dst);
  }
}

void Reference::describe_elu(const Case& source, std::span<const float> activation,
                             std::span<const float> diff_dst) {
  limit_ = elu_limit(dtype_, source.use_dst);
  const auto alpha = static_cast<float>(source.alpha);
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    if (computed_) {
      expected_[i] = elu_backward(source, activation[i], diff_dst[i]);
    } else {
      shifts_[i] = shift_by_rounding_alpha(source, activation[i], diff_dst[i]);
    }
    const bool infinite_factor = std::isinf(diff_dst[i]) || std::isinf(alpha);
    const bool zero_factor = diff_dst[i] == 0 || alpha == 0;
    if (!source.use_dst && activation[i] < exp_underflows_below && infinite_factor && !zero_factor) {
      rules_[i] = Rule::not_finite;
    } else if (std::isnan(expected_[i])) {
      rules_[i] = Rule::not_a_number;
    } else {
      units_[i] = ulp_of(expected_[i], dtype_);
    }
  }
}

void Reference::describe_log_softmax(const Case& source, std::span<const float> activation,
                                     std::span<const float> diff_dst) {
  limit_ = 1;
  const Axis axis(source);
  const auto describe = [&](std::size_t i, const RowSums& sums) {
    if (sums.has_nan || std::isnan(activation[i])) {
      rules_[i] = Rule::not_a_number;
      return;
    }
    if (activation[i] > log_softmax_greatest_dst || sums.sum_of_magnitudes >= log_softmax_greatest_sum) {
      rules_[i] = Rule::unbounded;
      ++unbounded_;
      return;
    }
    const long double exponential = std::exp(static_cast<long double>(activation[i]));
    units_[i] = log_softmax_bound(sums, exponential, diff_dst[i]);
    if (computed_) expected_[i] = static_cast<double>(diff_dst[i] - exponential * sums.sum);
    if (dtype_ == DataType::f32) return;
    units_[i] += ulp_of(std::fabs(expected_[i]) + units_[i], dtype_) / 2;
  };
  const std::size_t block = axis.length * axis.stride;
  for (std::size_t outer = 0; block != 0 && outer < expected_.size(); outer += block) {
    for (std::size_t inner = 0; inner < axis.stride; ++inner) {
      const std::size_t first = outer + inner;
      const RowSums sums = sum_row(diff_dst, first, axis);
      for (std::size_t k = 0; k < axis.length; ++k) describe(first + k * axis.stride, sums);
    }
  }
}

double Reference::error(std::size_t index, float result) const {
  const double expected = expected_[index];
  const double unit = units_[index];
  if (rules_[index] == Rule::unbounded) return 0;
  if (rules_[index] == Rule::not_a_number) return std::isnan(result) ? 0 : infinity;
  if (rules_[index] == Rule::not_finite) return std::isfinite(result) ? infinity : 0;
  if (std::isnan(result) || std::isnan(expected)) return infinity;
  if (std::isinf(expected)) return result == expected ? 0 : infinity;

  const bool is_elu = operation_ == CaseOperation::elu_backward;
  if (is_elu && result == 0 && std::signbit(result) != std::signbit(expected)) return infinity;
  if (dtype_ == DataType::bf16 && std::fabs(result) < smallest_normal_f32) {
    // bf16 results below 2^-126 become zeros, and what lies above by no more than the error of the f32
    // arithmetic may come out below.
    const double slack = is_elu ? 2 * ulp_of(smallest_normal_f32, DataType::f32) : unit;
    if (result != 0) return infinity;
    if (std::fabs(expected) < smallest_normal_f32 + slack) return 0;
  }
  const double clamped = clamp_to_format(result, dtype_);
  return std::min(std::fabs(clamped - clamp_to_format(expected, dtype_)),
                  std::fabs(clamped - clamp_to_format(expected + shifts_[index], dtype_))) /
         unit;
}

}  // namespace gradjit::tool
