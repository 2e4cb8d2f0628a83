#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "src/plan/request.hpp"

namespace gradjit::detail {

/// Loops over positions: elements that don't depend on one another's place. All dimensions of EluBackward
/// are, and those of LogSoftmaxBackward but the axis. Outermost first.
struct Layout {
  DimList loops;
  PerTensor<std::int64_t> offset = {};  ///< From the caller's pointer to where the loops start.
};

/// Adds a loop over `dim` with its strides times `scale`, in the direction that suits most tensors; nothing
/// for a size of 1.
void add_loop(Layout& layout, const Dim& dim, std::int64_t scale);

/// Whether a step of the outer loop goes on where the inner loop ends, both having two steps or more. That
/// place may be further than 64 bits tell, where none of the tensor's elements is; the strides' difference is
/// not.
[[nodiscard]] constexpr bool goes_on(std::int64_t outer_stride, std::int64_t inner_stride,
                                     std::int64_t inner_size) {
  return outer_stride - inner_stride == inner_stride * (inner_size - 1);
}

/// The same for every tensor.
[[nodiscard]] bool goes_on(const Dim& outer, const Dim& inner);

/// Whether a dim's steps are of `stride` in every tensor.
[[nodiscard]] inline bool steps_are(const Dim& dim, std::int64_t stride) {
  return std::count(dim.stride.begin(), dim.stride.end(), stride) == tensor_count;
}

/// Orders the loops by a tensor's memory, the longest steps outermost.
void order_by(DimList& loops, std::size_t tensor);

/// Orders the loops by memory, the longest steps of diff_src outermost, and merges those that are one.
void order_and_merge(DimList& loops);

/// Moves a loop to another place; those between move up.
void move_loop(DimList& loops, std::size_t from, std::size_t to);

}  // namespace gradjit::detail
