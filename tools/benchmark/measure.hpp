#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "tools/benchmark/contender.hpp"

namespace gradjit::bench {

/// How long to measure.
struct Pace {
  double repetition_seconds;  ///< Of one contender in one repetition, at least.
  int repetitions;            ///< Of a case, at most.
  double case_seconds;        ///< When a case would take longer, it is repeated less often.
};

/// Nanoseconds per call, one number for each repetition.
using Samples = std::vector<double>;

/// Times contenders against one another with Google Benchmark: in each repetition every one of them is timed
/// once, in an order drawn anew. The result has one entry for each contender, all of the same length.
[[nodiscard]] std::vector<Samples> measure(const std::vector<Contender*>& contenders, const Pace& pace);

}  // namespace gradjit::bench
