#pragma once

#include <cstdint>

#include "src/plan/request.hpp"

namespace gradjit::detail {

/// The loops over positions, elements that don't depend on one another's place: all dimensions of
/// EluBackward, those beside the axis of LogSoftmaxBackward. Outermost first, by diff_src's memory.
struct Layout {
  DimList loops;
  PerTensor<std::int64_t> offset = {};  ///< From the caller's pointer to where the loops start.
};

/// Adds a dimension, walked in the direction that suits most tensors; nothing for a size of 1.
void add_loop(Layout& layout, Dim dim);

/// Orders the loops by memory, the longest steps of diff_src outermost, and merges those that are one.
void order_and_merge(Layout& layout);

/// Moves a loop to another place; those between move up.
void move_loop(DimList& loops, std::size_t from, std::size_t to);

}  // namespace gradjit::detail
