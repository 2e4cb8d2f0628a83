#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gradjit::detail {

/// The same memory seen twice: it is written through one view and executed through the other, so that
/// neither is ever writable and executable. A forked child does not inherit the writable view.
struct DualMapping {
  std::uint8_t* writable = nullptr;
  const std::uint8_t* executable = nullptr;
  std::size_t size = 0;
};

/// Maps `size` bytes twice, a whole number of pages. Nothing where the system refuses.
[[nodiscard]] std::optional<DualMapping> map_dual(std::size_t size);

/// Gives the memory of some pages of a dual mapping back to the system. They stay mapped, but what is in
/// them is lost.
void discard_pages(const DualMapping& mapping, std::size_t offset, std::size_t size) noexcept;

/// Pages of their own for `bytes`: written first, then made executable and never written again.
/// Throws `Error`: code_memory_denied where the system refuses, out_of_memory.
[[nodiscard]] const std::uint8_t* map_sealed(std::span<const std::uint8_t> bytes);

/// Undoes `map_sealed`, or one view of `map_dual`. Takes null.
void unmap(const void* address, std::size_t size) noexcept;

inline constexpr std::size_t page_size = 4096;

/// `size` rounded up to whole pages.
[[nodiscard]] constexpr std::size_t whole_pages(std::size_t size) {
  return (size + page_size - 1) / page_size * page_size;
}

}  // namespace gradjit::detail
