#include "tools/gradjit/run_report.hpp"

#include <cmath>

#include <fmt/format.h>

#include "tools/gradjit/strided.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

std::string_view unit_of(CaseOperation operation) {
  return operation == CaseOperation::elu_backward ? "ulp" : "of the bound";
}

std::string describe_failures(std::string_view what, const CheckedRun& run, double limit,
                              CaseOperation operation, const Dims& dims) {
  std::string text;
  if (!(run.error <= limit)) {
    text += fmt::format("FAILED {}: {:.9g} at {}, expected {:.17g}: error {:.4g} {}, allowed {:.4g}\n", what,
                        run.result, format_shape(position_of(run.index, dims)), run.expected, run.error,
                        unit_of(operation), limit);
  }
  if (!run.has_same_bits()) {
    text +=
        fmt::format("FAILED {}: {} of {} elements differ from the portable path, the first at {}\n", what,
                    run.differs, elements_of(dims), format_shape(position_of(run.first_difference, dims)));
  }
  return text;
}

std::string describe_unbounded(std::size_t unbounded) {
  if (unbounded == 0) return "";
  return fmt::format(
      "{} elements judged by their bits only: dst > 88 or a sum of |diff_dst| of 2^127 and more\n",
      unbounded);
}

Json json_of(const CheckedRun& run, double limit, const Dims& dims) {
  Json json = {{"isa", name_of(run.isa)},
               {"in_place", run.in_place},
               {"passed", run.passes(limit)},
               {"greatest_error", json_number(run.error)},
               {"bits_same", run.has_same_bits()}};
  if (elements_of(dims) != 0) {
    json["at"] = position_of(run.index, dims);
    json["result"] = json_number(run.result);
    json["expected"] = json_number(run.expected);
  }
  if (!run.has_same_bits()) {
    json["elements_that_differ"] = run.differs;
    json["first_difference_at"] = position_of(run.first_difference, dims);
  }
  return json;
}

Json json_number(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

std::string text_of(const Json& document) {
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gradjit::tool
