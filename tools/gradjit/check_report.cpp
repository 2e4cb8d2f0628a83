#include "tools/gradjit/check_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <gradjit/version.hpp>

#include "tools/gradjit/run_report.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string describe_run(const CheckedCase& result, const CheckedRun& run) {
  return fmt::format("{} {} {} {}", one_line(result.source->name), name_of(result.dtype), name_of(run.isa),
                     run.in_place ? "in place" : "out of place");
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
                        result.source->elements(), result.greatest_error(), unit_of(result.source->operation),
                        result.limit, result.has_same_bits() ? "same" : "DIFFER", result.microseconds,
                        name_of(result.timed_isa), result.failures() == 0 ? "" : "  FAILED");
  }
  return text;
}

std::string format_summary(const CheckReport& report) {
  std::string isas;
  for (const Isa isa : report.isas) isas += fmt::format("{}{}", isas.empty() ? "" : ", ", name_of(isa));
  std::string text = fmt::format("{} cases, {} runs on {}: ", report.cases, report.runs(), isas);
  text += report.failures() == 0 ? "all good\n" : fmt::format("{} runs FAILED\n", report.failures());
  for (const IsaNotRun& skipped : report.not_run) text += describe(skipped);
  std::size_t unbounded = 0;
  for (const CheckedCase& result : report.results) unbounded += result.unbounded;
  return text + describe_unbounded(unbounded);
}

Json json_of(const CheckedCase& result) {
  Json runs = Json::array();
  for (const CheckedRun& run : result.runs) runs.push_back(json_of(run, result.limit, result.source->dims));
  return {{"name", result.source->name},
          {"op", name_of(result.source->operation)},
          {"dtype", name_of(result.dtype)},
          {"shape", result.source->dims},
          {"elements", result.source->elements()},
          {"passed", result.failures() == 0},
          {"greatest_error", json_number(result.greatest_error())},
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
    for (const CheckedRun& run : result.runs) {
      text += describe_failures(describe_run(result, run), run, result.limit, result.source->operation,
                                result.source->dims);
    }
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
  return text_of(document);
}

}  // namespace gradjit::tool
