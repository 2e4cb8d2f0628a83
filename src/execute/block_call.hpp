#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "src/cache/compiled_kernel.hpp"
#include "src/execute/grid.hpp"
#include "src/execute/staging.hpp"
#include "src/plan/plan.hpp"

namespace gradjit::detail {

/// Where each tensor's loops start. In place, diff_src is diff_dst.
using Pointers = PerTensor<std::byte*>;

/// The kernels of a plan by `KernelRole`; one that is not needed is null.
using Kernels = std::array<std::shared_ptr<const CompiledKernel>, kernel_roles>;

/// One call of `run`: what to do, with what, on what.
struct Launch {
  const Plan& plan;
  const Kernels& kernels;
  const CopyKernels& copies;
  const std::optional<Staging>& staging;  ///< Of the plan's whole blocks.
  Pointers at;
};

/// Steps along the axis.
struct AxisPart {
  std::int64_t begin = 0;
  std::int64_t steps = 1;
};

/// Has a kernel do one block: packs the staged inputs, calls, unpacks the staged result.
void call_whole(const Launch& launch, const Block& block);

/// Has one kernel sum a tile of diff_dst and another update the tensors, for one block of a plan that splits
/// them.
void call_split(const Launch& launch, const Block& block);

/// The same for a segment, or a part of one. The block has one row, or one slab's columns: `totals` and
/// `sums` have room for them as `KernelArgs` asks.
void call_sum(const Launch& launch, const Block& block, const AxisPart& part, double* totals);
void call_update(const Launch& launch, const Block& block, const AxisPart& part, const float* sums);

/// What one kernel call on the tensors themselves is made with, but for the pointers to them.
[[nodiscard]] jit::KernelArgs direct_args(const Plan& plan, const Block& block, std::int64_t axis_steps);

}  // namespace gradjit::detail
