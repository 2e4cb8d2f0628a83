#include "tests/support/strided_memory.hpp"

#include <algorithm>
#include <random>

namespace gradjit::test {

StridedMemory::StridedMemory(const StridedCase& c)
    : dtype_(c.dtype),
      dims_(c.dims),
      strides_(c.strides),
      sharing_(c.sharing),
      distance_(c.sharing == Sharing::interleaved ? c.distance : 0),
      elements_(elements_of(c)),
      guard_(c.seed % 2 == 0 ? GuardedBuffer::Guard::before : GuardedBuffer::Guard::after) {
  std::minstd_rand noise(c.seed + 1);
  for (std::size_t tensor = 0; tensor < 3; ++tensor) {
    buffers_[tensor] = buffer_for(c, tensor);
    for (std::byte& byte : buffers_[tensor].memory->bytes()) {
      byte = static_cast<std::byte>(noise() >> 8);
    }
  }
  const auto values = values_of(c);
  view(0).set_elements(values[0]);
  view(1).set_elements(values[1]);
}

StridedMemory::StridedMemory(const StridedMemory& other)
    : dtype_(other.dtype_),
      dims_(other.dims_),
      strides_(other.strides_),
      sharing_(other.sharing_),
      distance_(other.distance_),
      elements_(other.elements_),
      guard_(other.guard_) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const auto bytes = other.bytes(i);
    buffers_[i] = {std::make_unique<GuardedBuffer>(bytes.size(), guard_), other.buffers_[i].first};
    std::copy(bytes.begin(), bytes.end(), buffers_[i].memory->data());
  }
}

/// A buffer that just holds a tensor, and what is in it besides. Bytes that put it off its alignment are on
/// the side of the inaccessible page.
StridedMemory::Buffer StridedMemory::buffer_for(const StridedCase& c, std::size_t tensor) const {
  const std::size_t size = size_of(dtype_);
  Extent extent = extent_of(dims_, strides_[tensor]);
  if (tensor == 0) {
    (distance_ < 0 ? extent.low : extent.high) += distance_;
  }
  const std::size_t span = elements_ == 0 ? 0 : static_cast<std::size_t>(extent.high - extent.low + 1) * size;
  const std::size_t off = c.misalignment[tensor];
  const std::size_t before = guard_ == GuardedBuffer::Guard::before ? off : 0;
  return {std::make_unique<GuardedBuffer>(span + off, guard_),
          before + static_cast<std::size_t>(-extent.low) * size};
}

std::size_t StridedMemory::buffer_of(std::size_t tensor) const {
  switch (sharing_) {
    case Sharing::none:
      return tensor;
    case Sharing::in_place:
    case Sharing::on_diff_dst:
      return tensor == 2 ? 1 : tensor;
    case Sharing::on_activation:
    case Sharing::interleaved:
      return tensor == 2 ? 0 : tensor;
    case Sharing::same_inputs:
      return tensor == 0 ? 1 : tensor;
    case Sharing::all:
    case Sharing::all_in_place:
      return 1;
  }
  return tensor;
}

std::byte* StridedMemory::at(std::size_t tensor) const {
  if (elements_ == 0) {
    return nullptr;
  }
  const Buffer& buffer = buffers_[buffer_of(tensor)];
  const std::int64_t further = tensor == 2 ? distance_ : 0;
  return buffer.memory->data() + buffer.first + further * static_cast<std::int64_t>(size_of(dtype_));
}

StridedView StridedMemory::view(std::size_t tensor) const {
  return {dtype_, dims_, strides_[tensor], at(tensor)};
}

std::span<const std::byte> StridedMemory::bytes(std::size_t buffer) const {
  return buffers_[buffer].memory->bytes();
}

}  // namespace gradjit::test
