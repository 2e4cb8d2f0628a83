#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gradjit::detail {

/// One loop of a copy: how often it steps, and by how many bytes each step moves in either buffer. (Without
/// initialisers, so that an array of them costs nothing to make.)
struct CopyLoop {
  std::int64_t size;
  std::int64_t to;
  std::int64_t from;
};

/// The most loops that a copy may have: those of a tensor of the greatest rank.
inline constexpr std::size_t max_copy_loops = 12;

/// Copies elements of `unit` bytes (2 or 4) into a tile, one for each step of the nest of `loops`, in no
/// particular order. Any strides will do, zero and negative ones too, as long as no two steps write to one
/// place and nothing that is read is written. Reads and writes the elements and nothing between them.
/// A tile is the side whose cache lines stay in the first-level cache during the copy.
void pack(std::byte* tile, const std::byte* from, std::span<const CopyLoop> loops, std::int64_t unit);

/// The same out of a tile.
void unpack(std::byte* to, const std::byte* tile, std::span<const CopyLoop> loops, std::int64_t unit);

}  // namespace gradjit::detail
