#pragma once

#include <optional>
#include <span>

#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

/// A vector of elements in memory to add up.
struct Summand {
  Xbyak::RegExp at;
  const Tail* tail;
};

/// Registers that `tree_sum` holds at most.
inline constexpr int tree_sum_registers = 4;

/// Adds up to eight vectors in f32 as ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)): three roundings deep.
/// What is not there is left out; nothing if nothing is.
[[nodiscard]] std::optional<Vec> tree_sum(VectorUnit& v, Elements& elements,
                                          std::span<const Summand> summands);

}  // namespace gradjit::jit
