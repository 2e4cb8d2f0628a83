#include "src/execute/scratch.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include <gradjit/error.hpp>

namespace gradjit::detail {
namespace {

constexpr std::size_t alignment = 64;

/// What most plans need, so that few threads ever ask twice.
constexpr std::size_t usual_bytes = 64 << 10;

/// Has no destructor of its own: kernels may still run in the destructors of other thread-local and static
/// objects. A key of the thread library frees the memory after those of the thread.
struct Scratch {
  std::byte* memory;
  std::size_t bytes;
};

constinit thread_local Scratch scratch{nullptr, 0};

void release(void* memory) {
  std::free(memory);
  scratch = {nullptr, 0};
}

/// The key whose value is the thread's memory; nothing when the system has no more keys.
const pthread_key_t* release_key() {
  static pthread_key_t key;
  static const bool exists = pthread_key_create(&key, release) == 0;
  return exists ? &key : nullptr;
}

[[noreturn]] void throw_out_of_memory(std::size_t bytes) {
  throw Error(ErrorCode::out_of_memory, "no memory for " + std::to_string(bytes) + " bytes of scratch");
}

void grow(std::size_t bytes) {
  bytes = (std::max(bytes, usual_bytes) + alignment - 1) / alignment * alignment;
  const pthread_key_t* key = release_key();
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, bytes));
  if (key == nullptr || memory == nullptr || pthread_setspecific(*key, memory) != 0) {
    std::free(memory);
    throw_out_of_memory(bytes);
  }
  std::free(scratch.memory);
  scratch = {memory, bytes};
}

}  // namespace

std::byte* thread_scratch(std::size_t bytes) {
  if (scratch.bytes < bytes) {
    grow(bytes);
  }
  return scratch.memory;
}

}  // namespace gradjit::detail
