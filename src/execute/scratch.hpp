#pragma once

#include <cstddef>

namespace gradjit::detail {

/// Memory of the calling thread, at least `bytes`, 64-byte aligned, with anything in it. It holds until the
/// thread asks again, and is kept for the next time; a plan's tiles and sums ask for less than 2 MiB.
/// Throws `Error` (out_of_memory).
[[nodiscard]] std::byte* thread_scratch(std::size_t bytes);

}  // namespace gradjit::detail
