#include "src/code_memory/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include <gradjit/error.hpp>

namespace gradjit::detail {
namespace {

// Newer than the C library's headers: since Linux 6.3 a memfd should say that nobody will execve it.
constexpr unsigned memfd_noexec_seal = 0x8U;

class FileDescriptor {
 public:
  explicit FileDescriptor(int value) : value_(value) {}
  ~FileDescriptor() {
    if (value_ >= 0) {
      close(value_);
    }
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  [[nodiscard]] int get() const { return value_; }
  [[nodiscard]] explicit operator bool() const { return value_ >= 0; }

 private:
  int value_;
};

int create_memfd() {
  const int sealed = memfd_create("gradjit", MFD_CLOEXEC | memfd_noexec_seal);
  return sealed >= 0 || errno != EINVAL ? sealed : memfd_create("gradjit", MFD_CLOEXEC);
}

// Allocates the memory of a file now: if that were done when it is first written to, running out of memory
// would be a SIGBUS.
bool allocate(int file, std::size_t size) {
  int error = 0;
  do {
    error = posix_fallocate(file, 0, static_cast<off_t>(size));
  } while (error == EINTR);
  return error == 0;
}

// Growing a file beyond this limit raises a signal that ends the process.
bool exceeds_file_size_limit(std::size_t size) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < size;
}

[[noreturn]] void throw_out_of_memory(std::size_t size, int error) {
  throw Error(ErrorCode::out_of_memory, "no memory for " + std::to_string(size) +
                                            " bytes of code: " + std::generic_category().message(error));
}

}  // namespace

std::optional<DualMapping> map_dual(std::size_t size) {
  if (exceeds_file_size_limit(size)) {
    return std::nullopt;
  }
  const FileDescriptor file(create_memfd());
  if (!file || !allocate(file.get(), size)) {
    return std::nullopt;
  }
  void* const writable = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (writable == MAP_FAILED) {
    return std::nullopt;
  }
  void* const executable = mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_SHARED, file.get(), 0);
  if (executable == MAP_FAILED) {
    unmap(writable, size);
    return std::nullopt;
  }
  // A child could only do harm with it: the memory is shared with the parent.
  madvise(writable, size, MADV_DONTFORK);
  return DualMapping{static_cast<std::uint8_t*>(writable), static_cast<const std::uint8_t*>(executable),
                     size};
}

void discard_pages(const DualMapping& mapping, std::size_t offset, std::size_t size) noexcept {
  madvise(mapping.writable + offset, size, MADV_REMOVE);
}

const std::uint8_t* map_sealed(std::span<const std::uint8_t> bytes) {
  const std::size_t size = whole_pages(bytes.size());
  void* const address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    throw_out_of_memory(size, errno);
  }
  std::memcpy(address, bytes.data(), bytes.size());
  if (mprotect(address, size, PROT_READ | PROT_EXEC) != 0) {
    const int error = errno;
    unmap(address, size);
    if (error == ENOMEM) {
      throw_out_of_memory(size, error);
    }
    throw Error(ErrorCode::code_memory_denied,
                "the system grants no executable memory: " + std::generic_category().message(error));
  }
  return static_cast<const std::uint8_t*>(address);
}

void unmap(const void* address, std::size_t size) noexcept {
  if (address != nullptr) {
    munmap(const_cast<void*>(address), size);
  }
}

}  // namespace gradjit::detail
