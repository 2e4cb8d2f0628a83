#include "src/execute/block_call.hpp"

#include <algorithm>

#include "src/execute/scratch.hpp"

namespace gradjit::detail {
namespace {

using jit::KernelArgs;
using jit::Loop;
using jit::Stage;

constexpr std::int64_t line_bytes = 64;

KernelArgs::Strides strides_of(const Dim& dim) {
  return {dim.stride[activation], dim.stride[diff_dst], dim.stride[diff_src]};
}

std::int64_t& stride_of(KernelArgs::Strides& strides, std::size_t tensor) {
  return tensor == activation ? strides.activation : tensor == diff_dst ? strides.diff_dst : strides.diff_src;
}

/// How many steps a kernel takes along the dense loop, with those that are one with it, and the outer loop.
struct Steps {
  std::int64_t dense = 1;
  std::int64_t outer = 1;
};

Steps steps_of(const Plan& plan, const Block& block) {
  Steps steps{1, plan.outer == Plan::none ? 1 : block.steps[plan.outer]};
  if (plan.dense != Plan::none) {
    for (std::size_t i = plan.first_dense; i <= plan.dense; ++i) {
      steps.dense *= block.steps[i];
    }
  }
  return steps;
}

/// That of a block: most have the plan's, made before, and those at the end of a loop one of their own.
const Staging& staging_of(const Launch& launch, const Block& block, std::int64_t axis_steps,
                          std::optional<Staging>& own) {
  if (launch.staging && launch.staging->tiles().is_for(block.steps, axis_steps)) {
    return *launch.staging;
  }
  return own.emplace(launch.plan, block.steps, axis_steps, launch.copies);
}

/// One call with at least one tensor staged.
void call_staged(const Launch& launch, const CompiledKernel& kernel, const Block& block, KernelArgs& args,
                 const Pointers& at) {
  const Plan& plan = launch.plan;
  std::optional<Staging> own;
  const Staging& staging = staging_of(launch, block, args.axis, own);
  const TileLayout& tiles = staging.tiles();
  const bool writes = kernel.spec.stage != Stage::sum;
  if (plan.stages_all()) {
    // The whole tile is dense: so many rows, or else one run or slab.
    const bool has_rows = plan.spec.loop == Loop::rows || plan.spec.loop == Loop::packed_rows;
    args.outer = has_rows ? tiles.positions() : 1;
    args.inner = has_rows ? 0 : tiles.positions();
  }
  const bool needs_sums = kernel.spec.loop == Loop::columns && kernel.spec.stage == Stage::whole;
  const auto sums_bytes = static_cast<std::int64_t>(needs_sums ? jit::columns_scratch_bytes(args.inner) : 0);
  const std::int64_t tile_bytes = (tiles.bytes() + line_bytes - 1) / line_bytes * line_bytes;
  std::byte* scratch = thread_scratch(static_cast<std::size_t>(sums_bytes + 3 * tile_bytes));
  args.scratch = scratch;

  // The result takes the place of an input in its tile: kernels load what they overwrite first. Not where
  // steps of a few columns lie in one vector: a load that begins in what was just stored waits for it.
  const bool has_own_place =
      plan.spec.loop == Loop::columns && !plan.spec.in_place && args.inner < least_tile_columns;
  const PerTensor<std::size_t> place = {0, 1, has_own_place ? 2U : plan.staged[diff_dst] ? 1U : 0U};
  Pointers to = at;
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    if (plan.staged[tensor]) {
      to[tensor] = scratch + sums_bytes + static_cast<std::int64_t>(place[tensor]) * tile_bytes;
      stride_of(args.axis_stride, tensor) = tiles.axis_stride();
      stride_of(args.outer_stride, tensor) = tiles.outer_stride();
    }
  }
  if (plan.staged[activation] && writes) {
    staging.copy(activation, to[activation], at[activation]);
  }
  if (plan.staged[diff_dst]) {
    staging.copy(diff_dst, to[diff_dst], at[diff_dst]);
  }
  args.activation = to[activation];
  args.diff_dst = to[diff_dst];
  args.diff_src = to[diff_src];
  kernel(args);
  if (plan.staged[diff_src] && writes) {
    staging.copy(diff_src, at[diff_src], to[diff_src]);
  }
}

void call(const Launch& launch, const CompiledKernel& kernel, const Block& block, const AxisPart& part,
          KernelArgs& args) {
  const Plan& plan = launch.plan;
  Pointers at = launch.at;
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    at[tensor] += block.offset[tensor] + part.begin * plan.axis.stride[tensor];
  }
  if (plan.stages_any()) {
    call_staged(launch, kernel, block, args, at);
    return;
  }
  if (kernel.spec.loop == Loop::columns && kernel.spec.stage == Stage::whole) {
    args.scratch = thread_scratch(jit::columns_scratch_bytes(args.inner));
  }
  args.activation = at[activation];
  args.diff_dst = at[diff_dst];
  args.diff_src = at[diff_src];
  kernel(args);
}

const CompiledKernel& kernel_for(const Launch& launch, const AxisPart& part, KernelRole usual,
                                 KernelRole rest) {
  const bool is_last = part.begin + part.steps == launch.plan.axis.size;
  return *launch.kernels[static_cast<std::size_t>(is_last ? rest : usual)];
}

}  // namespace

jit::KernelArgs direct_args(const Plan& plan, const Block& block, std::int64_t axis_steps) {
  const Steps steps = steps_of(plan, block);
  const bool is_packed = plan.spec.loop == Loop::packed_rows;
  // Every member is named: what is left out would have the compiler clear the whole first, which is slow.
  return {
      .activation = nullptr,
      .diff_dst = nullptr,
      .diff_src = nullptr,
      .outer = is_packed ? steps.dense : steps.outer,
      .axis = axis_steps,
      .inner = is_packed ? 0 : steps.dense,
      .outer_stride = plan.outer == Plan::none ? KernelArgs::Strides{} : strides_of(plan.loops()[plan.outer]),
      .axis_stride = strides_of(plan.axis),
      .totals = nullptr,
      .sums = nullptr,
      .scratch = nullptr};
}

void call_whole(const Launch& launch, const Block& block) {
  const std::int64_t steps = launch.plan.axis.size;
  KernelArgs args = direct_args(launch.plan, block, steps);
  call(launch, *launch.kernels[static_cast<std::size_t>(KernelRole::main)], block, {0, steps}, args);
}

void call_split(const Launch& launch, const Block& block) {
  const Plan& plan = launch.plan;
  std::optional<Staging> own;
  const Staging& staging = staging_of(launch, block, plan.axis.size, own);
  const TileLayout& tiles = staging.tiles();
  const std::int64_t positions = tiles.positions();
  const std::int64_t padded = jit::padded_columns(positions);
  Pointers at = launch.at;
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    at[tensor] += block.offset[tensor];
  }
  std::byte* scratch =
      thread_scratch(jit::columns_scratch_bytes(positions) + static_cast<std::size_t>(tiles.bytes()));
  auto* totals = reinterpret_cast<double*>(scratch);
  auto* sums = reinterpret_cast<float*>(totals + padded);
  auto* tile = reinterpret_cast<std::byte*>(sums + padded);
  staging.copy(diff_dst, tile, at[diff_dst]);

  const bool is_columns = plan.tile_loop() == Loop::columns;
  KernelArgs args;
  args.diff_dst = tile;
  args.outer = is_columns ? 1 : positions;
  args.axis = plan.axis.size;
  args.inner = is_columns ? positions : 0;
  args.outer_stride.diff_dst = tiles.row_pitch();
  args.axis_stride.diff_dst = tiles.axis_stride();
  std::fill_n(totals, padded, 0.0);
  args.totals = totals;
  (*launch.kernels[static_cast<std::size_t>(KernelRole::sum)])(args);
  std::transform(totals, totals + positions, sums, [](double total) { return static_cast<float>(total); });
  std::fill_n(sums + positions, padded - positions, 0.0F);

  args = direct_args(plan, block, plan.axis.size);
  args.activation = at[activation];
  args.diff_dst = at[diff_dst];
  args.diff_src = at[diff_src];
  args.sums = sums;
  (*launch.kernels[static_cast<std::size_t>(KernelRole::main)])(args);
}

void call_sum(const Launch& launch, const Block& block, const AxisPart& part, double* totals) {
  KernelArgs args = direct_args(launch.plan, block, part.steps);
  args.totals = totals;
  call(launch, kernel_for(launch, part, KernelRole::sum, KernelRole::sum_rest), block, part, args);
}

void call_update(const Launch& launch, const Block& block, const AxisPart& part, const float* sums) {
  KernelArgs args = direct_args(launch.plan, block, part.steps);
  args.sums = sums;
  call(launch, kernel_for(launch, part, KernelRole::main, KernelRole::main_rest), block, part, args);
}

}  // namespace gradjit::detail
