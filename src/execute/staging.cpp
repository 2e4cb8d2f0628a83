#include "src/execute/staging.hpp"

namespace gradjit::detail {

Staging::Staging(const Plan& plan, const std::array<std::int64_t, max_rank>& steps, std::int64_t axis_steps,
                 const CopyKernels& kernels)
    : tiles_(plan, steps, axis_steps) {
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    if (plan.staged[tensor]) {
      TileLayout::Loops room;
      copies_[tensor].emplace(tiles_.copy_loops(room, tensor), plan.element_size, tile_side_of(tensor),
                              kernels[tensor].get());
    }
  }
}

}  // namespace gradjit::detail
