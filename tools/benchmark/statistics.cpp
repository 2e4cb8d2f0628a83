#include "tools/benchmark/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gradjit::bench {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double median_ratio(const std::vector<double>& numerators, const std::vector<double>& denominators) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < numerators.size(); ++i) ratios.push_back(numerators[i] / denominators.at(i));
  return median(std::move(ratios));
}

double relative_spread(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return median(std::move(distances)) / middle;
}

}  // namespace gradjit::bench
