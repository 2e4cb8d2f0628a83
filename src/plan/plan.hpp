#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gradjit/types.hpp>

#include "jit/kernel_spec.hpp"
#include "src/plan/layout.hpp"
#include "src/plan/request.hpp"
#include "src/plan/tuning.hpp"

namespace gradjit::detail {

/// The bytes from a tensor's lowest to its highest, counted from the caller's pointer.
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// How a request is carried out: which kernels, and what is done around them. A pure function of the
/// request, the instruction set and the cache sizes. All strides and offsets are in bytes.
///
/// The positions of the tensors (see `Layout`) are cut into blocks; a kernel call does one block, or
/// several that follow one another. In a block, a kernel takes steps along `axis`, along the dense loop,
/// whose elements (or packed rows) are adjacent, and along the outer loop. Where a tensor's memory doesn't
/// have the form that the kernel wants, its part of the block is staged: copied to a dense tile before the
/// call, or from there after it. That changes no result: which arithmetic is used depends on the logical
/// shape alone.
struct Plan {
  static constexpr std::size_t none = max_rank;

  jit::KernelSpec spec;  ///< Of the kernel that writes the result.
  /// A kernel of another loop sums the tiles of diff_dst before; all else is done where the tensors lie.
  bool is_split = false;
  jit::KernelSpec sum_spec;   ///< Of that kernel.
  std::int64_t elements = 0;  ///< Of each tensor. With 0, there is nothing to do, and the rest is unset.
  std::int64_t element_size = 4;
  std::int64_t bytes = 0;  ///< That a run reads and writes.

  Layout layout;
  Dim axis{1, {}};           ///< LogSoftmaxBackward's axis, whatever its place.
  Dim columns{1, {}};        ///< few_columns: the loop over columns that lie as the kernel wants them.
  std::size_t dense = none;  ///< The last loop, if its steps are adjacent.
  /// The loops from here to `dense` go on one where the other ends: a kernel sees them as one.
  std::size_t first_dense = none;
  std::size_t outer = none;  ///< The loop that a kernel takes besides.

  PerTensor<bool> staged = {};
  /// Steps of each loop in a block; set for the loops that there are. The axis is never cut but by segments.
  std::array<std::int64_t, max_rank> block = {};
  std::size_t growing = none;  ///< The loop along which blocks that follow one another can be one call.
  bool is_one_call = false;    ///< On one thread, one kernel call does it all.
  /// The alignment in bytes that a streaming kernel needs of diff_src, out of place; with less, one that does
  /// not stream runs instead.
  std::int64_t diff_src_alignment = 1;
  std::int64_t sum_steps = 0;     ///< Segmented: steps of the axis in one call that sums,
  std::int64_t update_steps = 0;  ///< and in one that updates.

  PerTensor<ByteRange> range;               ///< What the tensors span.
  PerTensor<bool> lies_like_diff_src = {};  ///< Has the strides of diff_src.

  [[nodiscard]] const DimList& loops() const { return layout.loops; }
  [[nodiscard]] DimList& loops() { return layout.loops; }
  [[nodiscard]] bool stages_any() const { return staged[0] || staged[1] || staged[2]; }
  [[nodiscard]] bool stages_all() const { return staged[0] && staged[1] && staged[2]; }

  /// The axis is longer than a kernel, or a tile of columns, takes at once: it is summed in parts, then
  /// updated in parts.
  [[nodiscard]] bool is_segmented() const { return spec.stage != jit::Stage::whole && !is_split; }
  /// Elements of one position: few columns are the kernel's own, and no loop.
  [[nodiscard]] std::int64_t position_elements() const {
    return spec.loop == jit::Loop::few_columns ? axis.size * spec.columns : axis.size;
  }
  /// The shape of the loops of the kernel that works on tiles.
  [[nodiscard]] jit::Loop tile_loop() const { return is_split ? sum_spec.loop : spec.loop; }
};

/// Those of this machine.
[[nodiscard]] CacheSizes cpu_cache_sizes();

/// Makes the plan of a request.
[[nodiscard]] Plan make_plan(const Request& request, Isa isa, const CacheSizes& caches = {});

/// The kernels of a plan. The rest is the last segment, or piece of one, where its length differs from the
/// others' in what the code knows of it.
enum class KernelRole : std::uint8_t { main, main_rest, sum, sum_rest };
inline constexpr std::size_t kernel_roles = 4;
[[nodiscard]] jit::KernelSpec spec_of(const Plan& plan, KernelRole role);

/// All specs that a plan needs, without repetitions, the main one first.
[[nodiscard]] std::vector<jit::KernelSpec> kernel_specs_of(const Plan& plan);

}  // namespace gradjit::detail
