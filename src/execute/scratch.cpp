#include "src/execute/scratch.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include <gradjit/error.hpp>

namespace gradjit::detail {
namespace {

constexpr std::size_t alignment = 64;

/// What most plans need, so that few threads ever ask twice.
constexpr std::size_t usual_bytes = 64 << 10;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

struct Scratch {
  std::unique_ptr<std::byte, Free> memory;
  std::size_t bytes = 0;
};

thread_local Scratch scratch;

void grow(std::size_t bytes) {
  bytes = (std::max(bytes, usual_bytes) + alignment - 1) / alignment * alignment;
  scratch = {};
  scratch.memory.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, bytes)));
  if (!scratch.memory) {
    throw Error(ErrorCode::out_of_memory, "no memory for " + std::to_string(bytes) + " bytes of scratch");
  }
  scratch.bytes = bytes;
}

}  // namespace

std::byte* thread_scratch(std::size_t bytes) {
  if (scratch.bytes < bytes) {
    grow(bytes);
  }
  return scratch.memory.get();
}

}  // namespace gradjit::detail
