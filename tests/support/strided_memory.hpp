#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tests/support/guarded_buffer.hpp"
#include "tests/support/strided_case.hpp"
#include "tests/support/strided_view.hpp"

namespace gradjit::test {

/// The buffers of a case, each just as large as its tensors and against an inaccessible page, filled with the
/// inputs' values and, between them, with noise. Where tensors share memory, not all are used.
class StridedMemory {
 public:
  explicit StridedMemory(const StridedCase& c);
  StridedMemory(const StridedMemory& other);
  StridedMemory& operator=(const StridedMemory&) = delete;
  ~StridedMemory() = default;

  /// Where the tensor's element (0, …) is; null where there are no elements.
  [[nodiscard]] std::byte* at(std::size_t tensor) const;

  [[nodiscard]] StridedView view(std::size_t tensor) const;
  /// Those of `view(tensor)`.
  [[nodiscard]] std::vector<std::uint32_t> elements(std::size_t tensor) const {
    return view(tensor).elements();
  }

  [[nodiscard]] std::span<const std::byte> bytes(std::size_t buffer) const;

 private:
  struct Buffer {
    std::unique_ptr<GuardedBuffer> memory;
    std::size_t first = 0;  ///< Where element (0, …) of the first tensor in it is.
  };

  [[nodiscard]] Buffer buffer_for(const StridedCase& c, std::size_t tensor) const;
  [[nodiscard]] std::size_t buffer_of(std::size_t tensor) const;

  DataType dtype_;
  Dims dims_;
  std::array<Dims, 3> strides_;
  Sharing sharing_;
  std::int64_t distance_;
  std::int64_t elements_;
  GuardedBuffer::Guard guard_;
  std::array<Buffer, 3> buffers_;
};

}  // namespace gradjit::test
