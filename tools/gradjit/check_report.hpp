#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <gradjit/types.hpp>

#include "tools/gradjit/cases.hpp"
#include "tools/gradjit/factory.hpp"
#include "tools/gradjit/judge.hpp"

namespace gradjit::tool {

/// All runs of one case in one type.
struct CheckedCase {
  const Case* source = nullptr;
  DataType dtype = DataType::f32;
  double limit = 0;           ///< The greatest error allowed.
  std::size_t unbounded = 0;  ///< Elements that no bound is promised for.
  std::vector<CheckedRun> runs;
  Isa timed_isa = Isa::portable;
  double microseconds = 0;  ///< The median of several calls out of place.

  [[nodiscard]] bool passes(const CheckedRun& run) const { return run.passes(limit); }
  [[nodiscard]] std::size_t failures() const;
  [[nodiscard]] double greatest_error() const;
  [[nodiscard]] bool has_same_bits() const;
};

struct CheckReport {
  std::string file;
  std::size_t cases = 0;
  std::vector<Isa> isas;
  std::vector<IsaNotRun> not_run;
  std::vector<CheckedCase> results;

  [[nodiscard]] std::size_t runs() const;
  [[nodiscard]] std::size_t failures() const;
};

/// A table with a line per case and type, every failure in full, and a summary.
[[nodiscard]] std::string format_table(const CheckReport& report);
/// One document with all that is known about each run.
[[nodiscard]] std::string format_json(const CheckReport& report);

}  // namespace gradjit::tool
