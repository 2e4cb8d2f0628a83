#pragma once

#include "src/plan/plan.hpp"

namespace gradjit::detail {

/// Decides how the kernel named in `plan.spec` goes over `plan.loops`, whose strides are in bytes: which
/// loops it takes, which tensors are staged, and the blocks.
void arrange(Plan& plan, const CacheSizes& caches);

}  // namespace gradjit::detail
