#pragma once

#include "src/plan/plan.hpp"

namespace gradjit::detail {

/// Sets the blocks of a plan that stages tensors, of about `target` positions each: of the tiles that the
/// loops allow, in several orders, those that a model of their cost finds fastest.
void choose_tiles(Plan& plan, std::int64_t target);

}  // namespace gradjit::detail
