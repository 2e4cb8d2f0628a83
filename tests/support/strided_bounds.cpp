// The definition of both operations, element by element, and how far a result may lie from it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "tests/support/element_bits.hpp"
#include "tests/support/strided_case.hpp"

namespace gradjit::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double smallest_normal = 0x1p-126;  // Of f32 and bf16.

/// What a result must be.
struct Expected {
  enum class Rule : std::uint8_t { near, nan, not_finite, anything } rule = Rule::near;
  double value = 0;
  double tolerance = 0;
  bool has_sign = false;  ///< The sign counts for zeros too.
};

/// 2^exponent is the least power of two that the type has as a normal number, 2^(end) the first too large.
struct Format {
  int digits;
  int least_exponent;
  int end;
};

Format format_of(DataType dtype) {
  switch (dtype) {
    case DataType::f32:
      return {23, -126, 128};
    case DataType::bf16:
      return {7, -126, 128};
    case DataType::f16:
      return {10, -14, 16};
  }
  return {};
}

double ulp_at(DataType dtype, double value) {
  const Format format = format_of(dtype);
  const int exponent = value == 0 ? format.least_exponent : std::ilogb(value);
  return std::ldexp(1.0, std::clamp(exponent, format.least_exponent, format.end - 1) - format.digits);
}

/// An infinity counts as the next power of two after the largest number.
double clamped(DataType dtype, double value) {
  const double end = std::ldexp(1.0, format_of(dtype).end);
  return std::clamp(value, -end, end);
}

Expected expected_elu(const StridedCase& c, double x, double g) {
  if (std::isnan(x) || std::isnan(g)) {
    return {Expected::Rule::nan};
  }
  const double alpha = c.alpha;
  const bool has_infinite_factor = std::isinf(g) || std::isinf(alpha);
  const bool has_zero_factor = g == 0 || alpha == 0;
  if (!c.use_dst && x < -104 && has_infinite_factor && !has_zero_factor) {
    return {Expected::Rule::not_finite};
  }
  const double value = x > 0 ? g : c.use_dst ? g * (x + alpha) : g * alpha * std::exp(x);
  if (std::isnan(value)) {
    return {Expected::Rule::nan};
  }
  const double ulps = c.dtype == DataType::bf16  ? 0.505
                      : c.dtype == DataType::f16 ? 0.51
                      : c.use_dst                ? 1.5
                                                 : 2.0;
  return {Expected::Rule::near, value, ulps * ulp_at(c.dtype, value), true};
}

/// What an axis adds up to.
struct Sums {
  long double sum = 0;
  long double magnitudes = 0;
};

Expected expected_log_softmax(DataType dtype, double y, double g, const Sums& sums) {
  if (std::isnan(y) || std::isnan(sums.sum)) {
    // An infinite g of either sign makes a NaN sum too, but so may any order of summation not.
    return {std::isnan(y) || std::isnan(sums.magnitudes) ? Expected::Rule::nan : Expected::Rule::anything};
  }
  if (y > 88 || !(sums.magnitudes < 0x1p127L)) {
    return {Expected::Rule::anything};
  }
  const long double exponential = std::exp(y);
  const auto value = static_cast<double>(g - exponential * sums.sum);
  const auto bound = static_cast<double>(0x1p-23L * (std::fabs(g) + 4 * exponential * sums.magnitudes) +
                                         0x1p-149L * (1 + std::fabs(sums.sum)));
  const double rounding = dtype == DataType::f32 ? 0 : ulp_at(dtype, std::fabs(value) + bound) / 2;
  return {Expected::Rule::near, value, bound + rounding};
}

bool is_good(DataType dtype, const Expected& expected, double result) {
  switch (expected.rule) {
    case Expected::Rule::anything:
      return true;
    case Expected::Rule::nan:
      return std::isnan(result);
    case Expected::Rule::not_finite:
      return !std::isfinite(result);
    case Expected::Rule::near:
      break;
  }
  if (std::isnan(result) || (std::isinf(expected.value) && result != expected.value)) {
    return false;
  }
  if (expected.has_sign && result == 0 && std::signbit(result) != std::signbit(expected.value)) {
    return false;
  }
  if (dtype == DataType::bf16 && std::fabs(result) < smallest_normal) {
    // All that is below becomes zero, and so may what is above by no more than the error before rounding.
    const double before = expected.has_sign ? 2 * 0x1p-149 : expected.tolerance;
    if (result != 0 || std::fabs(expected.value) < smallest_normal + before) {
      return result == 0;
    }
  }
  return std::fabs(clamped(dtype, result) - clamped(dtype, expected.value)) <= expected.tolerance;
}

std::string message(std::size_t index, const Expected& expected, double x, double g, double result) {
  std::ostringstream text;
  text.precision(17);
  text << "out of bounds: element " << index << " is " << result << ", expected ";
  if (expected.rule == Expected::Rule::near) {
    text << expected.value << " within " << expected.tolerance;
  } else {
    text << (expected.rule == Expected::Rule::nan ? "NaN" : "an infinity or NaN");
  }
  text << ", for src or dst " << x << " and diff_dst " << g;
  return text.str();
}

}  // namespace

std::string check_bounds(const StridedCase& c, const InputBits& inputs,
                         const std::vector<std::uint32_t>& results) {
  // Row-major, elements along the axis lie `inner` apart.
  const std::size_t axis = axis_of(c);
  const auto length = static_cast<std::size_t>(c.is_elu || c.dims.empty() ? 1 : c.dims[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < c.dims.size(); ++i) {
    inner *= static_cast<std::size_t>(c.dims[i]);
  }
  const std::size_t step = c.is_elu ? 1 : inner;
  const auto value = [&](const std::vector<std::uint32_t>& bits, std::size_t index) {
    return static_cast<double>(decode(c.dtype, bits[index]));
  };
  for (std::size_t first = 0; first < results.size(); ++first) {
    if (first / step % length != 0) {
      continue;  // Done with the first of its row or column.
    }
    Sums sums;
    for (std::size_t i = 0; i < length && !c.is_elu; ++i) {
      const double g = value(inputs[1], first + i * step);
      sums.sum += g;
      sums.magnitudes += std::fabs(g);
    }
    for (std::size_t index = first; index < first + length * step; index += step) {
      const double x = value(inputs[0], index);
      const double g = value(inputs[1], index);
      const Expected expected = c.is_elu ? expected_elu(c, x, g) : expected_log_softmax(c.dtype, x, g, sums);
      const double result = value(results, index);
      if (!is_good(c.dtype, expected, result)) {
        return message(index, expected, x, g, result);
      }
    }
  }
  return "";
}

}  // namespace gradjit::test
