#include "tools/benchmark/report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/gradjit/text.hpp"

namespace gradjit::bench {
namespace {

std::string format_time(double ns) {
  if (ns < 1e4) return fmt::format("{:.{}f} ns", ns, ns < 100 ? 1 : 0);
  return ns < 1e7 ? fmt::format("{:.1f} us", ns / 1e3) : fmt::format("{:.1f} ms", ns / 1e6);
}

/// Elements per nanosecond; what makes or finds a kernel handles none.
std::string format_rate(const Result& result) {
  if (result.source->measures != Measures::run) return "-";
  return fmt::format("{:.2f}", static_cast<double>(result.source->elements()) / result.gradjit_ns);
}

std::string format_speedup(const std::optional<Result::Rival>& rival) {
  return rival ? fmt::format("{:.2f}", rival->speedup) : "-";
}

std::string describe(const Target& target) {
  if (target.of == Bound::nanoseconds) return "at most " + format_time(target.bound);
  return fmt::format("{} {:.2f}", name_of(target.of), target.bound);
}

std::string describe_targets(const Result& result) {
  std::string text;
  for (const Target& target : result.targets()) {
    const char* verdict = !result.value_of(target.of) ? "not measured"
                          : result.meets(target)      ? "met"
                                                      : "MISSED";
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", describe(target), verdict);
  }
  return text;
}

std::size_t name_width() {
  std::size_t width = 0;
  for (const Case& source : all_cases()) width = std::max(width, source.name().size());
  return width;
}

std::string format_columns(std::string_view name, std::string_view time, std::string_view rate,
                           std::string_view onednn, std::string_view torch, std::string_view reference,
                           std::string_view roofline, std::string_view limited_by, std::string_view targets) {
  const std::string text =
      fmt::format("{:<{}}  {:>9}  {:>7}  {:>7}  {:>7}  {:>9}  {:>8}  {:<12}  {}", name, name_width(), time,
                  rate, onednn, torch, reference, roofline, limited_by, targets);
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::string format_header(const Report& report) {
  std::string text = fmt::format("{}, {}", tool::one_line(report.cpu), name_of(report.isa));
  for (const auto& [name, number] : report.versions) text += fmt::format(", {} {}", name, number);
  text +=
      "\nonednn, torch, reference: how many times as long they take; roofline: the share of a multiply's "
      "speed\n\n";
  return text + format_columns("case", "gradjit", "Gelem/s", "onednn", "torch", "reference", "roofline",
                               "limited by", "targets");
}

std::string format_row(const Result& result) {
  return format_columns(result.source->name(), format_time(result.gradjit_ns), format_rate(result),
                        format_speedup(result.onednn), format_speedup(result.torch),
                        format_speedup(result.reference), format_speedup(result.roofline),
                        result.limited_by(), describe_targets(result));
}

std::string format_summary(const Report& report) {
  std::string text;
  for (const NotRun& skipped : report.not_run) {
    text += fmt::format("not run: {} ({})\n", skipped.name, tool::one_line(skipped.reason));
  }
  std::size_t targets = 0;
  std::size_t met = 0;
  for (const Result& result : report.results) {
    for (const Target& target : result.targets()) {
      if (!result.value_of(target.of)) continue;
      ++targets;
      met += result.meets(target) ? 1 : 0;
    }
  }
  return text + fmt::format("{} cases, {} of {} targets met{}\n", report.results.size(), met, targets,
                            report.quick ? " (few short repetitions: no more than a hint)" : "");
}

}  // namespace gradjit::bench
