#include "src/execute/staging.hpp"

namespace gradjit::detail {

Staging::Staging(const Plan& plan, const std::array<std::int64_t, max_rank>& steps, std::int64_t axis_steps,
                 const CopyKernels& kernels)
    : tiles_(plan, steps, axis_steps) {
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    if (plan.staged[tensor]) {
      const TileSide tile = tensor == diff_src ? TileSide::from : TileSide::to;
      TileLayout::Loops room;
      copies_[tensor].emplace(tiles_.copy_loops(room, tensor, tile), plan.element_size, tile,
                              kernels[tensor].get());
    }
  }
}

bool Staging::is_for(const std::array<std::int64_t, max_rank>& steps, std::int64_t axis_steps) const {
  return tiles_.is_for(steps, axis_steps);
}

}  // namespace gradjit::detail
