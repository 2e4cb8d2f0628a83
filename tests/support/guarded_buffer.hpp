#pragma once

#include <cstddef>
#include <span>

namespace gradjit::test {

/// Memory that stands against an inaccessible page: a read or write past that end is a fault.
class GuardedBuffer {
 public:
  enum class Guard { before, after };

  /// `bytes` bytes, the first right after the inaccessible page, or the last right before it.
  GuardedBuffer(std::size_t bytes, Guard guard);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  std::byte* mapping_;
  std::size_t mapping_size_;
  std::byte* data_;
  std::size_t size_;
};

}  // namespace gradjit::test
