#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

/// Emits the sums of short rows whose elements are adjacent, as many rows as there are lanes:
///   leaves:  each row in a slot of lanes, a power of two wide, the rest of the slot zero
///   folds:   slots of several vectors together, until every lane holds the sum of a row
class PackedSums {
 public:
  /// Of rows of `length` elements, up to `packed_rows_limit`.
  PackedSums(VectorUnit& v, Elements& elements, int length);

  /// How many vector registers it takes: one for each level of folds, and one for scratch.
  [[nodiscard]] int registers() const;

  /// Puts the sums of the rows from `first` on into `sums`. Returns, for each row, the lane that has its sum.
  [[nodiscard]] std::vector<std::uint32_t> emit(const Vec& sums, const Xbyak::Reg64& first);

 private:
  /// A vector on its way to the sums: what its lanes hold.
  struct Node {
    Vec lanes;
    std::vector<int> rows;  ///< The row that each lane's sum is of.
  };

  [[nodiscard]] Node folded(int first_row, int rows, int distance);
  [[nodiscard]] Node leaf(int first_row);
  [[nodiscard]] Vec long_row(int row);
  [[nodiscard]] std::optional<Vec> lanes_of_row(int row, int first_lane, int width);

  VectorUnit& v_;
  Elements& elements_;
  int length_;
  int slot_;  ///< Lanes per row, a power of two; at most those of a vector.
  Xbyak::Reg64 first_;
  Tail part_tail_;
  Tail whole_;
  Constant slot_index_;
  Constant zero_;
};

}  // namespace gradjit::jit
