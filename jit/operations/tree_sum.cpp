#include "jit/operations/tree_sum.hpp"

namespace gradjit::jit {

std::optional<Vec> tree_sum(VectorUnit& v, Elements& elements, std::span<const Summand> summands) {
  if (summands.empty()) {
    return std::nullopt;
  }
  if (summands.size() > 2) {
    const std::size_t half = summands.size() > 4 ? 4 : 2;
    std::optional<Vec> sum = tree_sum(v, elements, summands.first(half));
    v.add(*sum, *sum, *tree_sum(v, elements, summands.subspan(half)));
    return sum;
  }
  Vec sum = v.vec("partial sum");
  elements.load(sum, summands[0].at, *summands[0].tail);
  if (summands.size() == 2) {
    const Vec scratch = v.vec("diff_dst");
    v.add(sum, sum, elements.read(scratch, summands[1].at, *summands[1].tail));
  }
  return sum;
}

}  // namespace gradjit::jit
