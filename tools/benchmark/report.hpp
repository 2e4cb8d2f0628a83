#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/benchmark/result.hpp"

namespace gradjit::bench {

/// A case that was not measured, and why.
struct NotRun {
  std::string name;
  std::string reason;
};

/// What a run is about, and what came of it.
struct Report {
  std::string cpu;
  Isa isa = Isa::portable;
  bool quick = false;
  std::vector<std::pair<std::string, std::string>> versions;
  std::vector<Result> results;
  std::vector<NotRun> not_run;
};

// The table for people comes in three pieces, so that it grows while cases are measured.

[[nodiscard]] std::string format_header(const Report& report);
/// One row.
[[nodiscard]] std::string format_row(const Result& result);
/// What was not run, and how many targets are met.
[[nodiscard]] std::string format_summary(const Report& report);

/// One JSON document.
[[nodiscard]] std::string format_json(const Report& report);
/// The results in such a document.
[[nodiscard]] std::vector<Result> parse_results(const std::string& json);

}  // namespace gradjit::bench
