#include "src/code_memory/code_memory.hpp"

#include <string>

#include <gradjit/error.hpp>

#include "src/code_memory/code_pool.hpp"
#include "src/profiling/perf.hpp"

namespace gradjit::detail {
namespace {

// Never destroyed: blocks may outlive every static object.
CodePool& pool() {
  static CodePool& instance = *new CodePool;
  return instance;
}

CodePlace store(std::span<const std::uint8_t> bytes) {
  // perf looks into perf-PID.map only for code in anonymous memory.
  if (perf_mode() != PerfMode::map) {
    if (const auto place = pool().store(bytes)) {
      return *place;
    }
  }
  return {nullptr, map_sealed(bytes), bytes.size(), whole_pages(bytes.size())};
}

void release(const CodePlace& place) noexcept {
  if (place.chunk != nullptr) {
    pool().release(place);
  } else {
    unmap(place.address, place.reserved);
  }
}

}  // namespace

CodeBlock::~CodeBlock() { release(place_); }

std::shared_ptr<const CodeBlock> store_code(std::span<const std::uint8_t> bytes) {
  if (bytes.empty() || bytes.size() > max_code_size) {
    throw Error(ErrorCode::internal, "code has " + std::to_string(bytes.size()) + " bytes, expected 1 to " +
                                         std::to_string(max_code_size));
  }
  const CodePlace place = store(bytes);
  try {
    return std::make_shared<const CodeBlock>(place);
  } catch (...) {
    release(place);
    throw;
  }
}

CodeMemoryStats code_memory_stats() { return pool().stats(); }

}  // namespace gradjit::detail
