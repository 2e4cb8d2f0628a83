#pragma once

#include "src/plan/plan.hpp"

namespace gradjit::detail {

/// Decides how kernels go over what they update: dense slabs as one run, large tensors past the caches. All
/// else in the plan is decided.
void choose_update(Plan& plan, const CacheSizes& caches);

}  // namespace gradjit::detail
