#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "src/code_memory/code_memory.hpp"
#include "src/code_memory/mapping.hpp"
#include "src/process/fork.hpp"

namespace gradjit::detail {

/// One dual mapping, filled with blocks from the start.
///
/// No address is used twice: the memory of a page goes back to the system some time after its last block
/// does, and the addresses when the last block of the whole chunk does. Code never changes under its address,
/// therefore, which x86 would allow only with care for what other cores have fetched already, and which
/// emulators (valgrind, qemu) would not notice through another mapping.
struct CodeChunk {
  /// Without memory: `mapping` is for the maker to set.
  explicit CodeChunk(std::size_t size);
  ~CodeChunk();
  CodeChunk(const CodeChunk&) = delete;
  CodeChunk& operator=(const CodeChunk&) = delete;

  [[nodiscard]] std::size_t room() const noexcept { return mapping.size - next; }
  /// Takes `size` bytes, for which there is room; returns their offset.
  [[nodiscard]] std::size_t take(std::size_t size) noexcept;
  /// Notes that these bytes are free. Once that makes many empty pages, they go back to the system.
  void vacate(std::size_t offset, std::size_t size) noexcept;

  DualMapping mapping;
  std::size_t next = 0;  ///< Where the next block goes.
  std::size_t used = 0;
  std::size_t blocks = 0;
  std::vector<std::uint16_t> blocks_in_page;
  std::size_t empty_pages = 0;  ///< That were full and could go back.

 private:
  void discard_empty_pages() noexcept;
};

/// All chunks of the process.
///
/// A forked child shares the memory of its parent's chunks. It starts chunks of its own, and never writes
/// to those; the parent keeps the memory of blocks that a child may be executing until the whole chunk
/// goes, which the child doesn't notice.
class CodePool {
 public:
  CodePool();

  /// Nothing where the system refuses dual mappings.
  [[nodiscard]] std::optional<CodePlace> store(std::span<const std::uint8_t> bytes);
  void release(const CodePlace& place) noexcept;
  [[nodiscard]] CodeMemoryStats stats();

 private:
  [[nodiscard]] CodeChunk* chunk_with_room(std::size_t size);
  [[nodiscard]] CodeChunk* add_chunk(std::size_t size);
  void drop_if_empty(const CodeChunk* chunk) noexcept;
  void on_fork(ForkEvent event) noexcept;

  std::mutex mutex_;
  std::vector<std::unique_ptr<CodeChunk>> chunks_;
  CodeChunk* current_ = nullptr;  ///< The one that is being filled, if any.
  std::size_t mapped_ = 0;
  std::uint64_t forks_ = 0;
  ForkHandler fork_handler_;
};

}  // namespace gradjit::detail
