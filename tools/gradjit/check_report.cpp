#include "tools/gradjit/check_report.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <gradjit/version.hpp>

#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string_view unit_of(const CheckedCase& result) {
  return result.source->operation == CaseOperation::elu_backward ? "ulp" : "of the bound";
}

/// The position of element `index` of a dense row-major tensor.
Dims position_of(std::size_t index, const Dims& dims) {
  Dims position(dims.size());
  for (std::size_t i = dims.size(); i-- > 0;) {
    const auto size = static_cast<std::size_t>(dims[i]);
    position[i] = static_cast<std::int64_t>(index % size);
    index /= size;
  }
  return position;
}

std::string describe_run(const CheckedCase& result, const CheckedRun& run) {
  return fmt::format("{} {} {} {}", one_line(result.source->name), name_of(result.dtype), name_of(run.isa),
                     run.in_place ? "in place" : "out of place");
}

std::string describe_failure(const CheckedCase& result, const CheckedRun& run) {
  std::string text;
  const Dims& dims = result.source->dims;
  if (!(run.error <= result.limit)) {
    text += fmt::format("FAILED {}: {:.9g} at {}, expected {:.17g}: error {:.4g} {}, allowed {:.4g}\n",
                        describe_run(result, run), run.result, format_shape(position_of(run.index, dims)),
                        run.expected, run.error, unit_of(result), result.limit);
  }
  if (!run.has_same_bits()) {
    text += fmt::format("FAILED {}: {} of {} elements differ from the portable path, the first at {}\n",
                        describe_run(result, run), run.differs, result.source->elements(),
                        format_shape(position_of(run.first_difference, dims)));
  }
  return text;
}

std::size_t name_width(const CheckReport& report) {
  std::size_t width = 4;
  for (const CheckedCase& result : report.results)
    width = std::max(width, one_line(result.source->name).size());
  return width;
}

std::string format_rows(const CheckReport& report) {
  const std::size_t width = name_width(report);
  std::string text = fmt::format("{:<{}}  dtype  elements  {:>23}  {:>7}  bits    {:>10}  {}\n", "case",
                                 width, "greatest error", "allowed", "time", "on");
  for (const CheckedCase& result : report.results) {
    text += fmt::format("{:<{}}  {:<5}  {:>8}  {:>10.4g} {:<12}  {:>7.4g}  {:<6}  {:>7.2f} us  {}{}\n",
                        one_line(result.source->name), width, name_of(result.dtype),
                        result.source->elements(), result.greatest_error(), unit_of(result), result.limit,
                        result.has_same_bits() ? "same" : "DIFFER", result.microseconds,
                        name_of(result.timed_isa), result.failures() == 0 ? "" : "  FAILED");
  }
  return text;
}

std::string format_summary(const CheckReport& report) {
  std::string isas;
  for (const Isa isa : report.isas) isas += fmt::format("{}{}", isas.empty() ? "" : ", ", name_of(isa));
  std::string text = fmt::format("{} cases, {} runs on {}: ", report.cases, report.runs(), isas);
  text += report.failures() == 0 ? "all good\n" : fmt::format("{} runs FAILED\n", report.failures());
  for (const IsaNotRun& skipped : report.not_run) {
    text += fmt::format("not run: {} ({})\n", name_of(skipped.isa), one_line(skipped.reason));
  }
  std::size_t unbounded = 0;
  for (const CheckedCase& result : report.results) unbounded += result.unbounded;
  if (unbounded != 0) {
    text += fmt::format(
        "{} elements judged by their bits only: dst > 88 or a sum of |diff_dst| of 2^127 and more\n",
        unbounded);
  }
  return text;
}

/// JSON has no infinity and no NaN: they become strings.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

Json json_of(const CheckedCase& result, const CheckedRun& run) {
  Json json = {{"isa", name_of(run.isa)},
               {"in_place", run.in_place},
               {"passed", result.passes(run)},
               {"greatest_error", number(run.error)},
               {"bits_same", run.has_same_bits()}};
  if (result.source->elements() != 0) {
    json["at"] = position_of(run.index, result.source->dims);
    json["result"] = number(run.result);
    json["expected"] = number(run.expected);
  }
  if (!run.has_same_bits()) {
    json["elements_that_differ"] = run.differs;
    json["first_difference_at"] = position_of(run.first_difference, result.source->dims);
  }
  return json;
}

Json json_of(const CheckedCase& result) {
  Json runs = Json::array();
  for (const CheckedRun& run : result.runs) runs.push_back(json_of(result, run));
  return {{"name", result.source->name},
          {"op", name_of(result.source->operation)},
          {"dtype", name_of(result.dtype)},
          {"shape", result.source->dims},
          {"elements", result.source->elements()},
          {"passed", result.failures() == 0},
          {"greatest_error", number(result.greatest_error())},
          {"unit", result.source->operation == CaseOperation::elu_backward ? "ulp" : "bound"},
          {"allowed", result.limit},
          {"bits_same", result.has_same_bits()},
          {"elements_without_bound", result.unbounded},
          {"time", {{"isa", name_of(result.timed_isa)}, {"microseconds", result.microseconds}}},
          {"runs", std::move(runs)}};
}

}  // namespace

std::size_t CheckedCase::failures() const {
  const auto failed = [this](const CheckedRun& run) { return !passes(run); };
  return static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), failed));
}

double CheckedCase::greatest_error() const {
  double greatest = 0;
  for (const CheckedRun& run : runs) greatest = std::max(greatest, run.error);
  return greatest;
}

bool CheckedCase::has_same_bits() const {
  return std::all_of(runs.begin(), runs.end(), [](const CheckedRun& run) { return run.has_same_bits(); });
}

std::size_t CheckReport::runs() const {
  std::size_t count = 0;
  for (const CheckedCase& result : results) count += result.runs.size();
  return count;
}

std::size_t CheckReport::failures() const {
  std::size_t count = 0;
  for (const CheckedCase& result : results) count += result.failures();
  return count;
}

std::string format_table(const CheckReport& report) {
  std::string text = format_rows(report);
  for (const CheckedCase& result : report.results) {
    for (const CheckedRun& run : result.runs) text += describe_failure(result, run);
  }
  return text + format_summary(report);
}

std::string format_json(const CheckReport& report) {
  Json isas = Json::array();
  for (const Isa isa : report.isas) isas.push_back(name_of(isa));
  Json not_run = Json::array();
  for (const IsaNotRun& skipped : report.not_run) {
    not_run.push_back({{"isa", name_of(skipped.isa)}, {"reason", skipped.reason}});
  }
  Json results = Json::array();
  for (const CheckedCase& result : report.results) results.push_back(json_of(result));
  const Json document = {
      {"gradjit", version},      {"file", report.file},           {"passed", report.failures() == 0},
      {"cases", report.cases},   {"runs", report.runs()},         {"failed", report.failures()},
      {"isas", std::move(isas)}, {"not_run", std::move(not_run)}, {"results", std::move(results)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gradjit::tool
