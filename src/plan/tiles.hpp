#pragma once

#include "src/plan/plan.hpp"

namespace gradjit::detail {

/// Stages every tensor.
void stage_all(Plan& plan);

/// Sets blocks of about `target` positions, shaped for the tensors that are staged. Where the kernel could
/// not take such blocks from the tensors that need no staging, these are staged as well.
void make_tiles(Plan& plan, std::int64_t target);

/// Sets blocks of about `target` positions with every tensor staged, and their loops in the plan's order.
void make_dense_tiles(Plan& plan, std::int64_t target);

/// Sets blocks of about `target` positions, or more, that lie as parts of one tensor, whose innermost loop is
/// the last: that tensor and those that lie alike need not be staged, and runs of it go over several loops.
/// False, and nothing is done, where that is not so, or a kernel can take no such runs.
[[nodiscard]] bool make_tiles_like(Plan& plan, std::size_t tensor, std::int64_t target);

/// Makes one block of all positions.
void make_one_tile(Plan& plan);

/// Sets blocks of about `target` steps of one loop.
void make_strips(Plan& plan, std::size_t loop, std::int64_t target);

/// With fewer steps of the dense loop in a call, staging more of them together pays.
[[nodiscard]] std::int64_t least_dense_steps(const Plan& plan);

}  // namespace gradjit::detail
