#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "src/plan/copy_nest.hpp"
#include "src/plan/plan.hpp"

namespace gradjit::detail {

/// The tiles of one block: dense, with the axis where the kernel wants it. Strides are in bytes.
class TileLayout {
 public:
  /// For a block of so many steps along each loop, and along the axis. The plan and the steps must outlive
  /// it.
  TileLayout(const Plan& plan, const std::array<std::int64_t, max_rank>& steps, std::int64_t axis_steps);

  /// Whether blocks of so many steps have the same tiles.
  [[nodiscard]] bool is_for(const std::array<std::int64_t, max_rank>& steps, std::int64_t axis_steps) const;

  [[nodiscard]] std::int64_t positions() const { return positions_; }
  [[nodiscard]] std::int64_t axis_stride() const { return axis_stride_; }
  /// From one position of an outer loop to the next; between rows if that is what the positions are.
  [[nodiscard]] std::int64_t outer_stride() const {
    return plan_.outer != Plan::none ? loop_stride_[plan_.outer] : row_pitch();
  }
  /// From one row to the next, where positions are rows.
  [[nodiscard]] std::int64_t row_pitch() const;
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  /// The loops that copy a tensor's part of the block to its tile, or for diff_src from there.
  using Loops = std::array<CopyLoop, max_copy_loops>;
  [[nodiscard]] std::span<const CopyLoop> copy_loops(Loops& room, std::size_t tensor) const;

 private:
  const Plan& plan_;
  const std::array<std::int64_t, max_rank>& steps_;
  std::int64_t axis_steps_;
  std::int64_t positions_ = 1;
  std::int64_t axis_stride_ = 0;
  std::int64_t bytes_ = 0;
  std::array<std::int64_t, max_rank> loop_stride_;
};

/// Which side of a tensor's copy is the tile: inputs are copied to it, the result from there.
[[nodiscard]] constexpr TileSide tile_side_of(std::size_t tensor) {
  return tensor == diff_src ? TileSide::from : TileSide::to;
}

/// Steps along the axis of most tiles.
[[nodiscard]] std::int64_t staged_axis_steps(const Plan& plan);

/// The kernel that copies a staged tensor, or nothing if plain code does.
[[nodiscard]] std::optional<jit::KernelSpec> copy_spec_of(const Plan& plan, std::size_t tensor);

}  // namespace gradjit::detail
