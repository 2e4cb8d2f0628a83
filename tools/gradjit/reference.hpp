#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gradjit/types.hpp>

#include "tools/gradjit/cases.hpp"

namespace gradjit::tool {

/// What the results of a case have to be in one type, element by element: the bounds that the library
/// promises.
class Reference {
 public:
  /// `activation` and `diff_dst` are the case's inputs, rounded to `dtype`. In f32 the case's own expected
  /// results count, if it has any; else, and in the 16-bit types, they are computed here, from what rounding
  /// made of the inputs.
  Reference(const Case& source, DataType dtype, std::span<const float> activation,
            std::span<const float> diff_dst);

  /// The error of `result` at element `index`, in units: ulp for elu_backward, the whole bound for
  /// log_softmax_backward. Infinite where nothing but one value, NaN or a zero will do.
  [[nodiscard]] double error(std::size_t index, float result) const;

  /// The greatest error allowed, in units.
  [[nodiscard]] double limit() const { return limit_; }
  [[nodiscard]] double expected(std::size_t index) const { return expected_[index]; }
  /// How many elements no bound is promised for (log-softmax of dst > 88 or of a sum beyond 2^127). Any
  /// result passes there, as long as it has the bits of the portable path.
  [[nodiscard]] std::size_t unbounded() const { return unbounded_; }

 private:
  enum class Rule : std::uint8_t { bounded, not_a_number, not_finite, unbounded };

  void describe_elu(const Case& source, std::span<const float> activation, std::span<const float> diff_dst);
  void describe_log_softmax(const Case& source, std::span<const float> activation,
                            std::span<const float> diff_dst);

  DataType dtype_;
  CaseOperation operation_;
  bool computed_;
  double limit_ = 0;
  std::size_t unbounded_ = 0;
  std::vector<Rule> rules_;
  std::vector<double> expected_;
  std::vector<double> units_;
  /// How far from `expected_` the result lies for the alpha that kernels get; zeros where it was computed.
  std::vector<double> shifts_;
};

/// An ulp of `dtype` at `value`, never less than the smallest subnormal's.
[[nodiscard]] double ulp_of(double value, DataType dtype);

}  // namespace gradjit::tool
