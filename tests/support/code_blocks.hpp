#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/code_memory/code_memory.hpp"

namespace gradjit::test {

using Block = std::shared_ptr<const detail::CodeBlock>;

/// Code that returns `value`, filled up to `size` bytes with int3.
[[nodiscard]] Block store_returning(std::uint32_t value, std::size_t size = 64);

/// Runs such code.
[[nodiscard]] std::uint32_t call(const Block& block);

/// A line of /proc/self/maps.
struct MappedRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::string permissions;
  std::string line;

  [[nodiscard]] bool holds(const void* address) const;
  /// Whether it is part of a chunk of code memory.
  [[nodiscard]] bool is_chunk() const;
};

[[nodiscard]] std::vector<MappedRange> read_maps();

/// False under an emulator that ignores madvise (qemu), where memory does not go back to the system.
[[nodiscard]] bool madvise_works();

/// Fails the test unless the pages of these blocks can be executed and not written to, and no page of any
/// chunk can be both.
void expect_never_writable_and_executable(const std::vector<Block>& blocks);

}  // namespace gradjit::test
