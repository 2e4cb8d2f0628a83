#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include <gradjit/types.hpp>

#include "tools/gradjit/reference.hpp"

namespace gradjit::tool {

/// One kernel's results, judged.
struct CheckedRun {
  Isa isa = Isa::portable;
  bool in_place = false;
  double error = 0;                  ///< The greatest of all elements, in units of the case's bound.
  std::size_t index = 0;             ///< Where it is.
  float result = 0;                  ///< What came out there.
  double expected = 0;               ///< What should have.
  std::size_t differs = 0;           ///< Elements whose bits are not those of the portable path.
  std::size_t first_difference = 0;  ///< The first of them.

  [[nodiscard]] bool has_same_bits() const { return differs == 0; }
  [[nodiscard]] bool passes(double limit) const { return error <= limit && has_same_bits(); }
};

/// Judges `results` by `reference`, and by the bits of what the portable path made of the same inputs. All
/// NaNs count as one.
void judge(CheckedRun& run, const Reference& reference, std::span<const float> results,
           std::span<const float> portable);

/// The median of several calls after a first one, in microseconds.
[[nodiscard]] double time_calls(const std::function<void()>& call);

}  // namespace gradjit::tool
