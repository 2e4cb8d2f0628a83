#include "tests/support/strided_view.hpp"

#include <algorithm>
#include <cstring>

namespace gradjit::test {

StridedView::StridedView(DataType dtype, const Dims& dims, const Dims& strides, std::byte* first)
    : dims_(dims), strides_(strides), element_size_(size_of(dtype)), first_(first) {}

std::byte* StridedView::element(std::size_t index) const {
  auto rest = static_cast<std::int64_t>(index);
  std::int64_t offset = 0;
  for (std::size_t i = dims_.size(); i-- > 0;) {
    offset += rest % dims_[i] * strides_[i];
    rest /= dims_[i];
  }
  return first_ + offset * static_cast<std::int64_t>(element_size_);
}

std::vector<std::uint32_t> StridedView::elements() const {
  std::size_t count = 1;
  for (const std::int64_t size : dims_) {
    count *= static_cast<std::size_t>(size);
  }
  std::vector<std::uint32_t> bits(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&bits[i], element(i), element_size_);
  }
  return bits;
}

void StridedView::set_elements(const std::vector<std::uint32_t>& bits) const {
  for (std::size_t i = 0; i < bits.size(); ++i) {
    std::memcpy(element(i), &bits[i], element_size_);
  }
}

Extent extent_of(const Dims& dims, const Dims& strides) {
  Extent extent;
  if (std::find(dims.begin(), dims.end(), 0) == dims.end()) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      (strides[i] < 0 ? extent.low : extent.high) += strides[i] * (dims[i] - 1);
    }
  }
  return extent;
}

}  // namespace gradjit::test
