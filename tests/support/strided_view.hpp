#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gradjit/types.hpp>

namespace gradjit::test {

/// A tensor in memory of somebody else's. Its elements are numbered in row-major order, whatever the strides.
class StridedView {
 public:
  /// Element (0, …) is at `first`.
  StridedView(DataType dtype, const Dims& dims, const Dims& strides, std::byte* first);

  [[nodiscard]] std::byte* element(std::size_t index) const;

  /// All elements, as bits.
  [[nodiscard]] std::vector<std::uint32_t> elements() const;
  void set_elements(const std::vector<std::uint32_t>& bits) const;

 private:
  Dims dims_;
  Dims strides_;
  std::size_t element_size_;
  std::byte* first_;
};

/// From a tensor's first element: how many elements further its lowest and its highest lie. Zeros for a
/// tensor without elements.
struct Extent {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
[[nodiscard]] Extent extent_of(const Dims& dims, const Dims& strides);

}  // namespace gradjit::test
