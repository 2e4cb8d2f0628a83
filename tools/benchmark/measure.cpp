#include "tools/benchmark/measure.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <benchmark/benchmark.h>

namespace gradjit::bench {
namespace {

struct Timing {
  benchmark::IterationCount calls = 0;
  double seconds = 0;  ///< Of all of them.
};

/// Keeps what Google Benchmark measured, by name, and prints nothing.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      timings_[run.run_name.function_name] = {.calls = run.iterations, .seconds = run.real_accumulated_time};
    }
  }
  [[nodiscard]] const Timing& of(const std::string& name) const { return timings_.at(name); }

 private:
  std::map<std::string, Timing> timings_;
};

void configure_once() {
  static const bool configured = [] {
    std::string name = "gradjit";
    std::string interleave = "--benchmark_enable_random_interleaving=true";
    std::array<char*, 3> arguments = {name.data(), interleave.data(), nullptr};
    int count = 2;
    benchmark::Initialize(&count, arguments.data());
    return true;
  }();
  static_cast<void>(configured);
}

void time_calls(Contender& contender, benchmark::State& state) {
  contender.begin();
  const auto [function, context] = contender.call();
  for ([[maybe_unused]] const auto& call : state) function(context);
  contender.end();
}

/// Times each contender once. `configure` says for how long.
template <typename Configure>
std::vector<Timing> time_once(const std::vector<Contender*>& contenders, Configure configure) {
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    auto* timed = benchmark::RegisterBenchmark(
        std::to_string(i).c_str(),
        [contender = contenders[i]](benchmark::State& state) { time_calls(*contender, state); });
    configure(*timed->UseRealTime(), i);
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, ".");
  benchmark::ClearRegisteredBenchmarks();
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < contenders.size(); ++i) timings.push_back(collector.of(std::to_string(i)));
  return timings;
}

}  // namespace

std::vector<Samples> measure(const std::vector<Contender*>& contenders, const Pace& pace) {
  configure_once();
  // How many calls make a repetition; this warms up as well.
  const std::vector<Timing> first =
      time_once(contenders, [&](auto& timed, std::size_t) { timed.MinTime(pace.repetition_seconds); });
  double seconds = 0;
  for (const Timing& timing : first) seconds += timing.seconds;
  const int repetitions = std::clamp(static_cast<int>(pace.case_seconds / seconds), 1, pace.repetitions);

  std::vector<Samples> samples(contenders.size());
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const std::vector<Timing> timings =
        time_once(contenders, [&](auto& timed, std::size_t i) { timed.Iterations(first[i].calls); });
    for (std::size_t i = 0; i < timings.size(); ++i) {
      samples[i].push_back(timings[i].seconds * 1e9 / static_cast<double>(timings[i].calls));
    }
  }
  return samples;
}

}  // namespace gradjit::bench
