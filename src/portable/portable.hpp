#pragma once

#include "jit/kernel_spec.hpp"

namespace gradjit::detail::portable {

/// Does in plain C++ what the code emitted for `spec` does, bit for bit (all NaNs counted as one): the
/// executable specification of every kernel. `spec.isa` doesn't matter.
void run(const jit::KernelSpec& spec, const jit::KernelArgs& args);

}  // namespace gradjit::detail::portable
