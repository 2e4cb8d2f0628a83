#pragma once

#include <vector>

namespace gradjit::bench {

/// The middle one, or the mean of the middle two. `values` is not empty.
[[nodiscard]] double median(std::vector<double> values);

/// The median of numerator[i] / denominator[i]: what was measured in the same repetition is compared, so that
/// a machine that gets slower for a while slows both. Equal lengths, not empty.
[[nodiscard]] double median_ratio(const std::vector<double>& numerators,
                                  const std::vector<double>& denominators);

/// The median distance from the median, as a share of the median.
[[nodiscard]] double relative_spread(const std::vector<double>& values);

}  // namespace gradjit::bench
