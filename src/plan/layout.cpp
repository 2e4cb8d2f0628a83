#include "src/plan/layout.hpp"

#include <algorithm>
#include <cstdlib>

namespace gradjit::detail {
namespace {

/// More tensors go down along `dim` than up; diff_src decides if they are as many.
bool goes_down(const Dim& dim) {
  int balance = 0;
  for (const std::int64_t stride : dim.stride) {
    balance += (stride < 0 ? 1 : 0) - (stride > 0 ? 1 : 0);
  }
  return balance > 0 || (balance == 0 && dim.stride[diff_src] < 0);
}

}  // namespace

bool goes_on(const Dim& outer, const Dim& inner) {
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    if (!goes_on(outer.stride[tensor], inner.stride[tensor], inner.size)) {
      return false;
    }
  }
  return true;
}

void add_loop(Layout& layout, const Dim& dim, std::int64_t scale) {
  if (dim.size == 1) {
    return;
  }
  const bool is_reversed = goes_down(dim);
  Dim& loop = layout.loops.append();
  loop.size = dim.size;
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    const std::int64_t stride = dim.stride[tensor] * scale;
    loop.stride[tensor] = is_reversed ? -stride : stride;
    layout.offset[tensor] += is_reversed ? stride * (dim.size - 1) : 0;
  }
}

void order_by(DimList& loops, std::size_t tensor) {
  const auto step = [&](std::size_t loop) { return std::abs(loops[loop].stride[tensor]); };
  // Nearly always in order: that is what row-major tensors come as.
  for (std::size_t i = 1; i < loops.size(); ++i) {
    for (std::size_t j = i; j > 0 && step(j) > step(j - 1); --j) {
      std::swap(loops[j], loops[j - 1]);
    }
  }
}

void order_and_merge(DimList& loops) {
  // No two loops of diff_src have steps of the same length: it would overlap itself.
  order_by(loops, diff_src);
  std::size_t last = 0;
  for (std::size_t i = 1; i < loops.size(); ++i) {
    if (goes_on(loops[last], loops[i])) {
      const std::int64_t size = loops[last].size * loops[i].size;
      loops[last] = loops[i];
      loops[last].size = size;
    } else {
      loops[++last] = loops[i];
    }
  }
  loops.truncate(last + 1);
}

void move_loop(DimList& loops, std::size_t from, std::size_t to) {
  if (from < to) {
    std::rotate(loops.begin() + from, loops.begin() + from + 1, loops.begin() + to + 1);
  } else {
    std::rotate(loops.begin() + to, loops.begin() + from, loops.begin() + from + 1);
  }
}

}  // namespace gradjit::detail
