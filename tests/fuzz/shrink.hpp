#pragma once

#include <functional>

#include "tests/support/strided_case.hpp"

namespace gradjit::test {

/// The smallest case that still fails as `c` does: fewer and smaller dims, dense strides, no sharing, f32 on
/// the lowest instruction set, one thread, values of 1 and 0. Every step keeps the values of the elements
/// that stay. `fails` says whether a case fails; it is called at most `most_tries` times.
[[nodiscard]] StridedCase shrunk(const StridedCase& c, const std::function<bool(const StridedCase&)>& fails,
                                 int most_tries = 3000);

}  // namespace gradjit::test
