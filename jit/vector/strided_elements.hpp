#pragma once

#include <memory>

#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

/// The elements that a kernel works on: of the spec's type, `step` apart. Where they are not adjacent,
/// `size()` and `vector_bytes()` are what they span in memory, gaps included.
[[nodiscard]] std::unique_ptr<Elements> elements_of(const KernelSpec& spec, VectorUnit& v);

}  // namespace gradjit::jit
