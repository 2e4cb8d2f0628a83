#include "jit/operations/packed_sums.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "jit/kernel_spec.hpp"

namespace gradjit::jit {

namespace {

int slot_of(int length, const VectorUnit& v) {
  return std::min(static_cast<int>(std::bit_ceil(static_cast<unsigned>(length))), v.lanes());
}

/// For each lane of slots, the lane that its element has where rows lie side by side; where there is
/// none, the last lane, which is then zero.
Constant slot_index(VectorUnit& v, int length) {
  const int slot = slot_of(length, v);
  std::vector<std::uint32_t> index;
  for (int lane = 0; lane < v.lanes(); ++lane) {
    const int element = lane % slot;
    const int source = element < length ? lane / slot * length + element : v.lanes() - 1;
    index.push_back(static_cast<std::uint32_t>(source));
  }
  return v.constant_lanes(index);
}

}  // namespace

PackedSums::PackedSums(VectorUnit& v, Elements& elements, int length)
    : v_(v),
      elements_(elements),
      length_(length),
      slot_(slot_of(length, v)),
      slot_index_(slot_index(v, length)),
      zero_(v.constant(0.0F)) {
  // A row's last part, or the rows that share a vector, may not fill it.
  const int part = length < v.lanes() ? v.lanes() / slot_ * length : length % v.lanes();
  part_tail_ = part == 0 || part == v.lanes() ? Tail{} : elements.tail(part);
}

int PackedSums::registers() const { return std::bit_width(static_cast<unsigned>(slot_)) + 1; }

std::vector<std::uint32_t> PackedSums::emit(const Vec& sums, const Xbyak::Reg64& first) {
  first_ = first;
  const Node root = folded(0, v_.lanes(), 1);
  v_.add(sums, root.lanes, zero_);  // a sum starts at +0
  std::vector<std::uint32_t> lane_of_row(root.rows.size());
  for (std::size_t lane = 0; lane < root.rows.size(); ++lane) {
    lane_of_row[static_cast<std::size_t>(root.rows[lane])] = static_cast<std::uint32_t>(lane);
  }
  return lane_of_row;
}

/// The sums of `rows` rows, down to `distance` lanes each: two such nodes of twice the distance, folded.
PackedSums::Node PackedSums::folded(int first_row, int rows, int distance) {
  if (distance == slot_) {
    return leaf(first_row);
  }
  const int half = rows / 2;
  Node a = folded(first_row, half, 2 * distance);
  const Node b = folded(first_row + half, half, 2 * distance);
  v_.fold_pair(a.lanes, b.lanes, distance);
  Node both{std::move(a.lanes), {}};
  for (const auto& [from_b, lane] : v_.fold_origin(distance)) {
    both.rows.push_back((from_b ? b : a).rows[static_cast<std::size_t>(lane)]);
  }
  return both;
}

/// The rows that fit into one vector, each in its slot.
PackedSums::Node PackedSums::leaf(int first_row) {
  Node node;
  for (int lane = 0; lane < v_.lanes(); ++lane) {
    node.rows.push_back(first_row + lane / slot_);
  }
  if (length_ > v_.lanes()) {
    node.lanes = long_row(first_row);
    return node;
  }
  node.lanes = v_.vec("rows");
  elements_.load(node.lanes, first_ + first_row * length_ * elements_.size(), part_tail_);
  if (length_ < slot_ && slot_ < v_.lanes()) {
    const Vec index = v_.vec("slots");
    v_.move(index, slot_index_);
    v_.permute(node.lanes, node.lanes, index);
  }
  return node;
}

/// A row of several vectors, folded into one.
Vec PackedSums::long_row(int row) { return std::move(*lanes_of_row(row, 0, v_.lanes())); }

/// The sum of a row's lanes first_lane + i, + width, + 2 * width, … (i below the vector's lanes): the
/// halves of what a fold from `packed_rows_limit` lanes down to `width` adds.
std::optional<Vec> PackedSums::lanes_of_row(int row, int first_lane, int width) {
  if (first_lane >= length_) {
    return std::nullopt;
  }
  if (width < static_cast<int>(packed_rows_limit)) {
    std::optional<Vec> sum = lanes_of_row(row, first_lane, 2 * width);
    if (const std::optional<Vec> upper = lanes_of_row(row, first_lane + width, 2 * width)) {
      v_.add(*sum, *sum, *upper);
    }
    return sum;
  }
  Vec part = v_.vec("part of a row");
  const bool partial = length_ - first_lane < v_.lanes();
  elements_.load(part, first_ + (row * length_ + first_lane) * elements_.size(),
                 partial ? part_tail_ : whole_);
  return part;
}

}  // namespace gradjit::jit
