#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tools/gradjit/cases.hpp"
#include "tools/gradjit/judge.hpp"

namespace gradjit::tool {

/// "ulp" or "of the bound": what errors are counted in.
[[nodiscard]] std::string_view unit_of(CaseOperation operation);

/// A line for each thing that is wrong with a run of `what`, for tensors of these dims; empty when it passes.
[[nodiscard]] std::string describe_failures(std::string_view what, const CheckedRun& run, double limit,
                                            CaseOperation operation, const Dims& dims);

/// What is said of elements that no bound is promised for; empty where there are none.
[[nodiscard]] std::string describe_unbounded(std::size_t unbounded);

/// A run as an object: whether it passed, its error and where that is, and what differs from the portable
/// path.
[[nodiscard]] nlohmann::ordered_json json_of(const CheckedRun& run, double limit, const Dims& dims);

/// JSON has no infinity and no NaN: they become strings.
[[nodiscard]] nlohmann::ordered_json json_number(double value);

/// As it is printed: one document.
[[nodiscard]] std::string text_of(const nlohmann::ordered_json& document);

}  // namespace gradjit::tool
