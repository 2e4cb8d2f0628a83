#include "tools/gradjit/judge.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

namespace gradjit::tool {
namespace {

void judge_errors(CheckedRun& run, const Reference& reference, std::span<const float> results) {
  run.error = -1;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double error = reference.error(i, results[i]);
    if (error <= run.error) continue;
    run.error = error;
    run.index = i;
    run.result = results[i];
    run.expected = reference.expected(i);
  }
  run.error = std::max(run.error, 0.0);
}

void judge_bits(CheckedRun& run, std::span<const float> results, std::span<const float> portable) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Widening is exact, so these are the same bits when the originals are.
    const bool same = std::bit_cast<std::uint32_t>(results[i]) == std::bit_cast<std::uint32_t>(portable[i]);
    if (same || (std::isnan(results[i]) && std::isnan(portable[i]))) continue;
    if (run.differs++ == 0) run.first_difference = i;
  }
}

}  // namespace

void judge(CheckedRun& run, const Reference& reference, std::span<const float> results,
           std::span<const float> portable) {
  judge_errors(run, reference, results);
  judge_bits(run, results, portable);
}

double time_calls(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t fewest_calls = 5;
  constexpr std::size_t most_calls = 101;
  constexpr std::chrono::duration<double> enough = std::chrono::milliseconds(10);
  call();
  std::vector<double> times;
  std::chrono::duration<double> total{0};
  while (times.size() < fewest_calls || (times.size() < most_calls && total < enough)) {
    const Clock::time_point start = Clock::now();
    call();
    const std::chrono::duration<double> time = Clock::now() - start;
    times.push_back(time.count());
    total += time;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle * 1e6;
}

}  // namespace gradjit::tool
