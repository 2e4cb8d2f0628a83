#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <gradjit/types.hpp>

namespace gradjit::tool {

/// How many elements tensors of these dims have. They fit in 64 bits: the library has checked them.
[[nodiscard]] std::size_t elements_of(const Dims& dims);

/// How many elements of memory a tensor spans, from its first to its last. Its strides are not negative.
[[nodiscard]] std::size_t span_of(const TensorDesc& desc);

/// A tensor's elements, row-major, from the memory that it spans.
[[nodiscard]] std::vector<float> gather(std::span<const float> memory, const TensorDesc& desc);

}  // namespace gradjit::tool
