#include "src/plan/tile_layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace gradjit::detail {
namespace {

constexpr std::int64_t line_bytes = 64;

}  // namespace

TileLayout::TileLayout(const Plan& plan, const std::array<std::int64_t, max_rank>& steps,
                       std::int64_t axis_steps)
    : plan_(plan), steps_(steps), axis_steps_(axis_steps) {
  const bool axis_is_outermost =
      plan.tile_loop() == jit::Loop::columns || plan.tile_loop() == jit::Loop::few_columns;
  std::int64_t stride = axis_is_outermost ? plan.element_size : row_pitch();
  for (std::size_t i = plan.loops().size(); i-- > 0;) {
    loop_stride_[i] = stride;
    stride *= steps[i];
    positions_ *= steps[i];
  }
  axis_stride_ = axis_is_outermost ? stride : plan.element_size;
  bytes_ = axis_is_outermost ? stride * axis_steps : stride;
}

bool TileLayout::is_for(const std::array<std::int64_t, max_rank>& steps, std::int64_t axis_steps) const {
  return axis_steps == axis_steps_ &&
         std::equal(steps.begin(), steps.begin() + plan_.loops().size(), steps_.begin());
}

/// Packed rows are adjacent. Others lie an odd number of cache lines apart: steps of a power of two would
/// have the lines that a transposing copy writes side by side push one another out of the cache.
std::int64_t TileLayout::row_pitch() const {
  const std::int64_t bytes = axis_steps_ * plan_.element_size;
  return plan_.tile_loop() == jit::Loop::rows ? (((bytes - 1) / line_bytes + 1) | 1) * line_bytes : bytes;
}

std::span<const CopyLoop> TileLayout::copy_loops(Loops& room, std::size_t tensor) const {
  const TileSide tile = tile_side_of(tensor);
  std::size_t count = 0;
  const auto add = [&](std::int64_t size, std::int64_t in_tile, std::int64_t in_tensor) {
    room[count++] =
        tile == TileSide::to ? CopyLoop{size, in_tile, in_tensor} : CopyLoop{size, in_tensor, in_tile};
  };
  for (std::size_t i = 0; i < plan_.loops().size(); ++i) {
    add(steps_[i], loop_stride_[i], plan_.loops()[i].stride[tensor]);
  }
  if (axis_steps_ > 1) {
    add(axis_steps_, axis_stride_, plan_.axis.stride[tensor]);
  }
  // In the order of the tensor's memory: the tile is in the cache in any.
  const std::span loops = std::span(room).first(count);
  const auto stride = [tile](const CopyLoop& loop) {
    return std::abs(tile == TileSide::to ? loop.from : loop.to);
  };
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t j = i; j > 0 && stride(loops[j - 1]) < stride(loops[j]); --j) {
      std::swap(loops[j - 1], loops[j]);
    }
  }
  return loops;
}

std::int64_t staged_axis_steps(const Plan& plan) {
  return plan.is_segmented() ? plan.update_steps : plan.axis.size;
}

std::optional<jit::KernelSpec> copy_spec_of(const Plan& plan, std::size_t tensor) {
  if (!plan.staged[tensor]) {
    return std::nullopt;
  }
  TileLayout::Loops room;
  return copy_spec_of(TileLayout(plan, plan.block, staged_axis_steps(plan)).copy_loops(room, tensor),
                      plan.element_size, tile_side_of(tensor), plan.spec.isa);
}

}  // namespace gradjit::detail
