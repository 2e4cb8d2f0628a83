#pragma once

#include <string>

#include "tests/support/strided_case.hpp"

namespace gradjit::test {

/// `failure_of` in a child process, whose crash is a failure too.
[[nodiscard]] std::string failure_in_child(const StridedCase& c);

/// A failing case for people: as it was, the smallest that fails in the same way, and the command that
/// runs that again.
[[nodiscard]] std::string report(const StridedCase& c, const std::string& failure);

/// `--replay CASE`: runs a case that a report shows, in this process, and says what is wrong. Returns the
/// exit status: 0 good, 1 it fails, 2 it is no case or the CPU lacks its instruction set.
[[nodiscard]] int replay(const std::string& text);

}  // namespace gradjit::test
