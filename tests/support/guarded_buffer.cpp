#include "tests/support/guarded_buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

namespace gradjit::test {

GuardedBuffer::GuardedBuffer(std::size_t bytes, Guard guard) : size_(bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t inner = (bytes + page - 1) / page * page;
  mapping_size_ = inner + 2 * page;
  void* mapping = mmap(nullptr, mapping_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    throw std::runtime_error("mmap of a guarded buffer failed");
  }
  mapping_ = static_cast<std::byte*>(mapping);
  if (inner != 0 && mprotect(mapping_ + page, inner, PROT_READ | PROT_WRITE) != 0) {
    throw std::runtime_error("mprotect of a guarded buffer failed");
  }
  data_ = mapping_ + page + (guard == Guard::after ? inner - bytes : 0);
}

GuardedBuffer::~GuardedBuffer() { munmap(mapping_, mapping_size_); }

}  // namespace gradjit::test
