#pragma once

#include <string>

#include "tools/benchmark/report.hpp"

namespace gradjit::bench {

/// An SVG image: elements per nanosecond against the size of a tensor, of gradjit, the peers and the
/// roofline, one panel for each operation and type among the plotted cases. At least one result is of such a
/// case.
[[nodiscard]] std::string format_plot(const Report& report);

}  // namespace gradjit::bench
