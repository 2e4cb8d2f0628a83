#pragma once

#include <vector>

#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

/// Emits the sum of diff_dst along a row, in the order that `portable/kernels.cpp` defines: element i
/// belongs to lane i mod 16; eight elements of a lane are added in f32, as a tree, then in f64.
class RowSum {
 public:
  RowSum(VectorUnit& v, Elements& elements);

  void start();
  /// Adds `rows_chunk` elements from `from` on, or the `count` that are left at a row's end, whose last
  /// vector is partial by `tail` where `count` is no multiple of the lanes.
  void add_chunk(const Xbyak::RegExp& from);
  void add_rest(const Xbyak::RegExp& from, int count, const Tail& tail);
  /// The total, an f64, is then lane 0 of the register returned.
  const Vec& total();

 private:
  VectorUnit& v_;
  Elements& elements_;
  std::vector<Vec> accumulators_;
};

}  // namespace gradjit::jit
