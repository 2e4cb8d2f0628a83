#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gradjit::detail {

struct CodeChunk;

/// A piece of code memory. Chunk is null when the piece has pages of its own.
struct CodePlace {
  CodeChunk* chunk = nullptr;
  const std::uint8_t* address = nullptr;
  std::size_t size = 0;      ///< As asked for.
  std::size_t reserved = 0;  ///< With what rounding adds.
  std::uint64_t forks = 0;   ///< How many forks the pool had seen when it was handed out.
};

/// Executable bytes, which never change; the memory is free again when the last owner lets go.
class CodeBlock {
 public:
  explicit CodeBlock(const CodePlace& place) noexcept : place_(place) {}
  ~CodeBlock();
  CodeBlock(const CodeBlock&) = delete;
  CodeBlock& operator=(const CodeBlock&) = delete;

  [[nodiscard]] const std::uint8_t* data() const noexcept { return place_.address; }
  [[nodiscard]] std::size_t size() const noexcept { return place_.size; }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept { return {data(), size()}; }

 private:
  CodePlace place_;
};

/// The alignment of every block.
inline constexpr std::size_t code_alignment = 64;
/// The largest block.
inline constexpr std::size_t max_code_size = std::size_t{16} << 20;

/// Copies code to memory where it can run. Throws `Error`: code_memory_denied where the system grants no
/// executable memory, out_of_memory, internal for an empty or oversized span. Thread-safe.
///
/// Blocks share chunks of memory, so that tens of thousands of them need only some hundred mappings. Safe
/// across fork(), on both sides. See `CodePool`.
[[nodiscard]] std::shared_ptr<const CodeBlock> store_code(std::span<const std::uint8_t> bytes);

struct CodeMemoryStats {
  std::size_t chunks = 0;
  std::size_t mapped_bytes = 0;  ///< Addresses of all chunks; memory that was given back is not behind them.
  std::size_t used_bytes = 0;    ///< Of live blocks in chunks, with what alignment adds.
};

[[nodiscard]] CodeMemoryStats code_memory_stats();

}  // namespace gradjit::detail
