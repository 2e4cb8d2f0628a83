#include "tools/gradjit/strided.hpp"

namespace gradjit::tool {

std::size_t elements_of(const Dims& dims) {
  std::size_t elements = 1;
  for (const std::int64_t size : dims) elements *= static_cast<std::size_t>(size);
  return elements;
}

std::size_t span_of(const TensorDesc& desc) {
  const std::size_t elements = elements_of(desc.dims());
  if (elements == 0 || desc.strides().empty()) return elements;
  std::size_t span = 1;
  for (std::size_t i = 0; i < desc.dims().size(); ++i) {
    span += static_cast<std::size_t>(desc.dims()[i] - 1) * static_cast<std::size_t>(desc.strides()[i]);
  }
  return span;
}

std::vector<float> gather(std::span<const float> memory, const TensorDesc& desc) {
  const Dims& dims = desc.dims();
  const Dims& strides = desc.strides();
  if (strides.empty()) return {memory.begin(), memory.end()};
  std::vector<float> values(elements_of(dims));
  Dims position(dims.size());
  std::int64_t offset = 0;
  for (float& value : values) {
    value = memory[static_cast<std::size_t>(offset)];
    // The next position: the last index that isn't at its end goes on, those behind it start again.
    for (std::size_t i = dims.size(); i-- > 0;) {
      offset += strides[i];
      if (++position[i] < dims[i]) break;
      offset -= strides[i] * dims[i];
      position[i] = 0;
    }
  }
  return values;
}

}  // namespace gradjit::tool
