#include "src/execute/block_call.hpp"

#include "src/execute/scratch.hpp"
#include "src/execute/strided_copy.hpp"

namespace gradjit::detail {
namespace {

using jit::KernelArgs;
using jit::Loop;
using jit::Stage;

constexpr std::int64_t tile_alignment = 64;

KernelArgs::Strides strides_of(const Dim& dim) {
  return {dim.stride[activation], dim.stride[diff_dst], dim.stride[diff_src]};
}

std::int64_t& stride_of(KernelArgs::Strides& strides, std::size_t tensor) {
  return tensor == activation ? strides.activation
                              : tensor == diff_dst ? strides.diff_dst : strides.diff_src;
}

/// How many steps a kernel takes along the dense and the outer loop.
struct Steps {
  std::int64_t dense = 1;
  std::int64_t outer = 1;
};

Steps steps_of(const Plan& plan, const Block& block) {
  return {plan.dense == Plan::none ? 1 : block.steps[plan.dense],
          plan.outer == Plan::none ? 1 : block.steps[plan.outer]};
}

void set_steps(KernelArgs& args, const Plan& plan, const Steps& steps, std::int64_t axis_steps) {
  args.axis = axis_steps;
  if (plan.spec.loop == Loop::packed_rows) {
    args.outer = steps.dense;
  } else {
    args.outer = steps.outer;
    args.inner = steps.dense;
  }
}

/// The tiles of one block: dense, with the axis where the kernel wants it.
class Tiles {
 public:
  Tiles(const Plan& plan, const Block& block, std::int64_t axis_steps)
      : plan_(plan), block_(block), axis_steps_(axis_steps) {
    const bool axis_is_outermost = plan.spec.loop == Loop::columns;
    std::int64_t stride = plan.element_size * (axis_is_outermost ? 1 : axis_steps);
    for (std::size_t i = plan.loops.size(); i-- > 0;) {
      loop_stride_[i] = stride;
      stride *= block.steps[i];
      positions_ *= block.steps[i];
    }
    axis_stride_ = axis_is_outermost ? stride : plan.element_size;
  }

  [[nodiscard]] std::int64_t positions() const { return positions_; }
  [[nodiscard]] std::int64_t axis_stride() const { return axis_stride_; }
  [[nodiscard]] std::int64_t loop_stride(std::size_t loop) const { return loop_stride_[loop]; }
  [[nodiscard]] std::int64_t bytes() const { return positions_ * axis_steps_ * plan_.element_size; }

  void pack(std::byte* tile, const std::byte* from, std::size_t tensor) const {
    std::array<CopyLoop, max_copy_loops> loops;
    std::size_t count = 0;
    for (std::size_t i = 0; i < plan_.loops.size(); ++i) {
      loops[count++] = {block_.steps[i], loop_stride_[i], plan_.loops[i].stride[tensor]};
    }
    if (axis_steps_ > 1) {
      loops[count++] = {axis_steps_, axis_stride_, plan_.axis.stride[tensor]};
    }
    strided_copy(tile, from, std::span(loops).first(count), plan_.element_size);
  }

  void unpack(std::byte* to, const std::byte* tile) const {
    std::array<CopyLoop, max_copy_loops> loops;
    std::size_t count = 0;
    for (std::size_t i = 0; i < plan_.loops.size(); ++i) {
      loops[count++] = {block_.steps[i], plan_.loops[i].stride[diff_src], loop_stride_[i]};
    }
    if (axis_steps_ > 1) {
      loops[count++] = {axis_steps_, plan_.axis.stride[diff_src], axis_stride_};
    }
    strided_copy(to, tile, std::span(loops).first(count), plan_.element_size);
  }

 private:
  const Plan& plan_;
  const Block& block_;
  std::int64_t axis_steps_;
  std::int64_t positions_ = 1;
  std::int64_t axis_stride_ = 0;
  std::array<std::int64_t, max_rank> loop_stride_;
};

/// One call with at least one tensor staged.
void call_staged(const Plan& plan, const CompiledKernel& kernel, const Block& block, KernelArgs& args,
                 const Pointers& at) {
  const Tiles tiles(plan, block, args.axis);
  const bool writes = kernel.spec.stage != Stage::sum;
  if (plan.all_staged) {
    // The whole tile is dense: one run, one slab of columns, or rows without end.
    const bool has_dense = plan.dense != Plan::none;
    set_steps(args, plan, has_dense ? Steps{tiles.positions(), 1} : Steps{1, tiles.positions()}, args.axis);
  }
  const bool needs_sums = kernel.spec.loop == Loop::columns && kernel.spec.stage == Stage::whole;
  const auto sums_bytes = static_cast<std::int64_t>(needs_sums ? jit::columns_scratch_bytes(args.inner) : 0);
  const std::int64_t tile_bytes = (tiles.bytes() + tile_alignment - 1) / tile_alignment * tile_alignment;
  std::byte* scratch = thread_scratch(static_cast<std::size_t>(sums_bytes + 2 * tile_bytes));
  args.scratch = scratch;

  // The result takes the place of an input in its tile: kernels load what they overwrite first.
  const PerTensor<std::size_t> place = {0, 1, plan.staged[diff_dst] ? 1U : 0U};
  Pointers to = at;
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    if (plan.staged[tensor]) {
      to[tensor] = scratch + sums_bytes + static_cast<std::int64_t>(place[tensor]) * tile_bytes;
      stride_of(args.axis_stride, tensor) = tiles.axis_stride();
      stride_of(args.outer_stride, tensor) = plan.outer == Plan::none ? 0 : tiles.loop_stride(plan.outer);
    }
  }
  if (plan.staged[activation] && writes) {
    tiles.pack(to[activation], at[activation], activation);
  }
  if (plan.staged[diff_dst]) {
    tiles.pack(to[diff_dst], at[diff_dst], diff_dst);
  }
  args.activation = to[activation];
  args.diff_dst = to[diff_dst];
  args.diff_src = to[diff_src];
  kernel(args);
  if (plan.staged[diff_src] && writes) {
    tiles.unpack(at[diff_src], to[diff_src]);
  }
}

void call(const Launch& launch, const CompiledKernel& kernel, const Block& block, const AxisPart& part,
          KernelArgs& args) {
  const Plan& plan = launch.plan;
  Pointers at = launch.at;
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    at[tensor] += block.offset[tensor] + part.begin * plan.axis.stride[tensor];
  }
  if (plan.staged[activation] || plan.staged[diff_dst] || plan.staged[diff_src]) {
    call_staged(plan, kernel, block, args, at);
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

const CompiledKernel& kernel_for(const Launch& launch, const AxisPart& part, KernelRole usual, KernelRole rest) {
  const bool is_last = part.begin + part.steps == launch.plan.axis.size;
  return *launch.kernels[static_cast<std::size_t>(is_last ? rest : usual)];
}

}  // namespace

jit::KernelArgs direct_args(const Plan& plan, const Block& block, std::int64_t axis_steps) {
  KernelArgs args;
  set_steps(args, plan, steps_of(plan, block), axis_steps);
  args.axis_stride = strides_of(plan.axis);
  if (plan.outer != Plan::none) {
    args.outer_stride = strides_of(plan.loops[plan.outer]);
  }
  return args;
}

void call_whole(const Launch& launch, const Block& block) {
  const std::int64_t steps = launch.plan.axis.size;
  KernelArgs args = direct_args(launch.plan, block, steps);
  call(launch, *launch.kernels[static_cast<std::size_t>(KernelRole::main)], block, {0, steps}, args);
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
