#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/cache/compiled_kernel.hpp"
#include "src/plan/copy_nest.hpp"

namespace gradjit::detail {

/// Copies elements of `unit` bytes (2 or 4) into a tile, one for each step of the nest of `loops`, in no
/// particular order. Any strides will do, zero and negative ones too, as long as no two steps write to one
/// place and nothing that is read is written. Writes the elements and nothing between them, and reads nothing
/// that is not between two elements of a line. `kernel` does what it can, if there is one; the rest, and all
/// of it without one, is plain code. A tile is the side whose cache lines stay in the first-level cache
/// during the copy.
void pack(std::byte* tile, const std::byte* from, std::span<const CopyLoop> loops, std::int64_t unit,
          const CompiledKernel* kernel = nullptr);

/// The same out of a tile.
void unpack(std::byte* to, const std::byte* tile, std::span<const CopyLoop> loops, std::int64_t unit,
            const CompiledKernel* kernel = nullptr);

}  // namespace gradjit::detail
