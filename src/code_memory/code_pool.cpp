#include "src/code_memory/code_pool.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gradjit::detail {
namespace {

// The first chunk is small, for programs with few kernels; they grow with the total, so that their
// number stays far from the system's limit on mappings (65530 by default) whatever the total is.
constexpr std::size_t min_chunk_size = std::size_t{64} << 10;
constexpr std::size_t max_chunk_size = std::size_t{1} << 20;

// Larger blocks have a chunk of their own, lest much of the current one remain unused.
constexpr std::size_t max_shared_size = min_chunk_size / 4;

// In place of the number of blocks in a page, for one that has been given back.
constexpr std::uint16_t discarded = 0xffff;

}  // namespace

CodeChunk::CodeChunk(std::size_t size) : blocks_in_page(size / page_size) {}

CodeChunk::~CodeChunk() {
  unmap(mapping.writable, mapping.size);
  unmap(mapping.executable, mapping.size);
}

std::size_t CodeChunk::take(std::size_t size) noexcept {
  const std::size_t offset = next;
  next += size;
  used += size;
  ++blocks;
  for (std::size_t page = offset / page_size; page * page_size < next; ++page) {
    ++blocks_in_page[page];
  }
  return offset;
}

void CodeChunk::vacate(std::size_t offset, std::size_t size) noexcept {
  const std::size_t end = offset + size;
  for (std::size_t page = offset / page_size; page * page_size < end; ++page) {
    // The page that is being filled doesn't count: more blocks are coming to it.
    const bool is_filled = (page + 1) * page_size <= next;
    if (--blocks_in_page[page] == 0 && is_filled) {
      ++empty_pages;
    }
  }
  // Many at a time, or none where the whole chunk goes first: it is a system call per run of pages.
  if (empty_pages * 4 >= blocks_in_page.size()) {
    discard_empty_pages();
  }
}

void CodeChunk::discard_empty_pages() noexcept {
  const std::size_t full_pages = next / page_size;
  for (std::size_t page = 0; page < full_pages;) {
    const std::size_t first = page;
    while (page < full_pages && blocks_in_page[page] == 0) {
      blocks_in_page[page++] = discarded;
    }
    if (page > first) {
      discard_pages(mapping, first * page_size, (page - first) * page_size);
    } else {
      ++page;
    }
  }
  empty_pages = 0;
}

CodePool::CodePool()
    : fork_handler_([](void* pool, ForkEvent event) { static_cast<CodePool*>(pool)->on_fork(event); }, this) {
}

std::optional<CodePlace> CodePool::store(std::span<const std::uint8_t> bytes) {
  const std::size_t reserved = (bytes.size() + code_alignment - 1) / code_alignment * code_alignment;
  const std::lock_guard lock(mutex_);
  CodeChunk* const chunk = chunk_with_room(reserved);
  if (chunk == nullptr) {
    return std::nullopt;
  }
  const std::size_t offset = chunk->take(reserved);
  std::memcpy(chunk->mapping.writable + offset, bytes.data(), bytes.size());
  return CodePlace{chunk, chunk->mapping.executable + offset, bytes.size(), reserved, forks_};
}

CodeChunk* CodePool::chunk_with_room(std::size_t size) {
  if (size > max_shared_size) {
    return add_chunk(whole_pages(size));
  }
  if (current_ == nullptr || current_->room() < size) {
    CodeChunk* const full = current_;
    current_ = add_chunk(std::clamp(std::bit_floor(mapped_ | 1), min_chunk_size, max_chunk_size));
    drop_if_empty(full);
  }
  return current_;
}

CodeChunk* CodePool::add_chunk(std::size_t size) {
  chunks_.push_back(std::make_unique<CodeChunk>(size));
  const auto mapping = map_dual(size);
  if (!mapping) {
    chunks_.pop_back();
    return nullptr;
  }
  chunks_.back()->mapping = *mapping;
  mapped_ += size;
  return chunks_.back().get();
}

void CodePool::release(const CodePlace& place) noexcept {
  const std::lock_guard lock(mutex_);
  CodeChunk& chunk = *place.chunk;
  chunk.used -= place.reserved;
  --chunk.blocks;
  if (place.forks == forks_) {
    chunk.vacate(static_cast<std::size_t>(place.address - chunk.mapping.executable), place.reserved);
  }
  drop_if_empty(&chunk);
}

void CodePool::drop_if_empty(const CodeChunk* chunk) noexcept {
  if (chunk != nullptr && chunk != current_ && chunk->blocks == 0) {
    mapped_ -= chunk->mapping.size;
    std::erase_if(chunks_, [chunk](const auto& other) { return other.get() == chunk; });
  }
}

CodeMemoryStats CodePool::stats() {
  const std::lock_guard lock(mutex_);
  CodeMemoryStats stats;
  stats.chunks = chunks_.size();
  stats.mapped_bytes = mapped_;
  for (const auto& chunk : chunks_) {
    stats.used_bytes += chunk->used;
  }
  return stats;
}

void CodePool::on_fork(ForkEvent event) noexcept {
  if (event == ForkEvent::before) {
    mutex_.lock();
    return;
  }
  ++forks_;
  if (event == ForkEvent::in_child) {
    const CodeChunk* const abandoned = current_;
    current_ = nullptr;
    for (const auto& chunk : chunks_) {
      chunk->mapping.writable = nullptr;  // Not inherited.
    }
    drop_if_empty(abandoned);
  }
  mutex_.unlock();
}

}  // namespace gradjit::detail
