#pragma once

#include <memory>
#include <span>

#include <gradjit/gradjit.hpp>

#include "tools/gradjit/cases.hpp"
#include "tools/gradjit/check_report.hpp"

namespace gradjit::tool {

/// Runs `source`, rounded to `dtype`, on each factory out of place and in place, judges the results, and
/// takes the time on the last.
[[nodiscard]] CheckedCase check_case(const Case& source, DataType dtype, KernelFactory& portable,
                                     std::span<const std::unique_ptr<KernelFactory>> factories);

}  // namespace gradjit::tool
