#pragma once

#include <gradjit/executor.hpp>

#include "src/execute/block_call.hpp"

namespace gradjit::detail {

/// Runs a plan whose kernels do whole blocks, cut for `executor`.
void run_blocks(const Launch& launch, Executor& executor, int concurrency);

/// Runs a plan whose axis is cut into segments: sums them, adds their totals in order, updates.
void run_segments(const Launch& launch, Executor& executor, int concurrency);

}  // namespace gradjit::detail
