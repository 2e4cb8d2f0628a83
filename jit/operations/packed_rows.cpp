// LogSoftmaxBackward along a short axis of adjacent elements: as many rows at a time as there are lanes.
//   leaves:  each row in a slot of lanes, a power of two wide, the rest of the slot zero
//   sums:    slots of several vectors are folded together until every lane holds the sum of a row
//   update:  the rows as adjacent vectors, each lane with the sum of the row that it is in
// Stage::update has only the last of these, with the sums from memory.
// The rows left at the end are done the same way on a copy, filled up with zeros.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "jit/operations/operations.hpp"
#include "jit/operations/softmax_update.hpp"
#include "jit/vector/loops.hpp"
#include "jit/vector/strided_elements.hpp"

namespace gradjit::jit {

namespace {

/// A vector on its way to the sums: what its lanes hold.
struct Node {
  Vec lanes;
  std::vector<int> rows;  ///< The row, within the block, that each lane's sum is of.
};

class PackedRows {
 public:
  PackedRows(const KernelSpec& spec, VectorUnit& v);
  void emit();

 private:
  [[nodiscard]] static Xbyak::Reg64 r64(const General& reg) { return Assembler::r64(reg); }
  [[nodiscard]] int block_bytes() const { return length_ * elements_->vector_bytes(); }
  /// What a copy of a block takes on the stack.
  [[nodiscard]] int copy_bytes() const { return (block_bytes() + 63) / 64 * 64; }

  void take_stack();
  void block();
  void sum();
  void load_sums();
  [[nodiscard]] Node folded(int first_row, int rows, int distance);
  [[nodiscard]] Node leaf(int first_row);
  [[nodiscard]] Vec long_row(int row);
  [[nodiscard]] std::optional<Vec> lanes_of_row(int row, int first_lane, int width);
  void update();
  void take_rest(const Xbyak::Label& again);
  void copy_in(const Xbyak::Reg64& tensor, int to);
  void copy_out(const Xbyak::RegExp& from);

  VectorUnit& v_;
  Assembler& a_;
  std::unique_ptr<Elements> elements_;
  int length_;
  int gap_;   ///< Bytes between the end of an element and the next.
  int slot_;  ///< Lanes per row, a power of two; at most those of a vector.
  Tensors tensors_;
  General blocks_;
  General row_sums_;       ///< Stage::update: those of the block.
  General rest_bytes_;     ///< From its first element to the end of its last; if there is none, 0 or less.
  General rest_diff_src_;  ///< Where the rest's results go, once they are being worked on; else null.
  General block_end_;      ///< The rest's bytes, once they are being worked on; else more than any block has.
  General frame_;          ///< The stack pointer without the copies.
  Tail part_tail_;
  Tail whole_;
  Constant slot_index_;
  Constant zero_;
  Vec sums_;
  std::vector<std::uint32_t> lane_of_row_;
  SoftmaxUpdate update_;
};

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

PackedRows::PackedRows(const KernelSpec& spec, VectorUnit& v)
    : v_(v),
      a_(v.assembler()),
      elements_(elements_of(spec, v)),
      length_(static_cast<int>(spec.axis_rest)),
      gap_((spec.step - 1) * static_cast<int>(size_of(spec.dtype))),
      slot_(slot_of(length_, v)),
      tensors_(a_, spec),
      blocks_(a_.argument(offsetof(KernelArgs, outer), "blocks of rows")),
      row_sums_(spec.stage == Stage::update ? a_.argument(offsetof(KernelArgs, sums), "sums") : General{}),
      rest_bytes_(a_.general("bytes of the rest")),
      rest_diff_src_(a_.general("diff_src of the rest")),
      block_end_(a_.general("end of the block")),
      frame_(a_.general("stack pointer")),
      slot_index_(slot_index(v, length_)),
      zero_(v.constant(0.0F)),
      sums_(v.vec("sums of rows")),
      update_(v, *elements_, tensors_) {
  // A row's last part, or the rows that share a vector, may not fill it.
  const int part = length_ < v.lanes() ? v.lanes() / slot_ * length_ : length_ % v.lanes();
  part_tail_ = part == 0 || part == v.lanes() ? Tail{} : elements_->tail(part);
}

void PackedRows::emit() {
  const int lanes = v_.lanes();
  take_stack();
  a_.mov(Assembler::r32(block_end_), block_bytes() + 1);
  a_.mov(r64(rest_bytes_), r64(blocks_));
  a_.and_(r64(rest_bytes_), lanes - 1);
  a_.imul(r64(rest_bytes_), r64(rest_bytes_), length_ * elements_->size());
  if (gap_ > 0) {
    a_.sub(r64(rest_bytes_), gap_);
  }
  a_.sar(r64(blocks_), std::countr_zero(static_cast<unsigned>(lanes)));
  a_.xor_(Assembler::r32(rest_diff_src_), Assembler::r32(rest_diff_src_));
  a_.mark("constants");
  // The tree of folds holds a vector per level, and one for scratch.
  const int levels = std::bit_width(static_cast<unsigned>(slot_));
  update_.hoist(levels + 2);

  Xbyak::Label again;
  a_.L(again);
  repeat(a_, blocks_, [&] {
    a_.begin_main_loop("sum of diff_dst, then diff_src", length_);
    block();
    tensors_.advance_by(block_bytes());
  });
  a_.end_main_loop();
  take_rest(again);
  a_.mov(a_.rsp, r64(frame_));
  tensors_.finish();
  a_.leave();
  update_.finish();
}

/// For the copies. Page by page: the end of the stack must not be stepped over.
void PackedRows::take_stack() {
  constexpr int page = 4096;
  a_.mov(r64(frame_), a_.rsp);
  for (int left = 2 * copy_bytes(); left > 0; left -= page) {
    a_.sub(a_.rsp, std::min(left, page));
    if (left > page) {
      a_.or_(a_.qword[a_.rsp], 0);
    }
  }
  a_.and_(a_.rsp, -64);
}

/// As many rows as there are lanes.
void PackedRows::block() {
  if (row_sums_.held()) {
    load_sums();
  } else {
    a_.mark("sum diff_dst of " + std::to_string(v_.lanes()) + " rows");
    tensors_.prefetch(tensors_.diff_dst(), block_bytes());
    sum();
  }
  a_.mark("update the rows");
  update();
}

/// The sums of a block's rows, each in the lane of its number.
void PackedRows::load_sums() {
  v_.load_raw(sums_, a_.ptr[r64(row_sums_)]);
  a_.add(r64(row_sums_), 4 * v_.lanes());
  lane_of_row_.resize(static_cast<std::size_t>(v_.lanes()));
  std::iota(lane_of_row_.begin(), lane_of_row_.end(), 0U);
}

void PackedRows::sum() {
  const Node root = folded(0, v_.lanes(), 1);
  v_.add(sums_, root.lanes, zero_);  // a sum starts at +0
  lane_of_row_.assign(root.rows.size(), 0);
  for (std::size_t lane = 0; lane < root.rows.size(); ++lane) {
    lane_of_row_[static_cast<std::size_t>(root.rows[lane])] = static_cast<std::uint32_t>(lane);
  }
}

/// The sums of `rows` rows, down to `distance` lanes each: two such nodes of twice the distance, folded.
Node PackedRows::folded(int first_row, int rows, int distance) {
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
Node PackedRows::leaf(int first_row) {
  Node node;
  for (int lane = 0; lane < v_.lanes(); ++lane) {
    node.rows.push_back(first_row + lane / slot_);
  }
  if (length_ > v_.lanes()) {
    node.lanes = long_row(first_row);
    return node;
  }
  node.lanes = v_.vec("rows");
  elements_->load(node.lanes, tensors_.diff_dst() + first_row * length_ * elements_->size(), part_tail_);
  if (length_ < slot_ && slot_ < v_.lanes()) {
    const Vec index = v_.vec("slots");
    v_.move(index, slot_index_);
    v_.permute(node.lanes, node.lanes, index);
  }
  return node;
}

/// A row of several vectors, folded into one.
Vec PackedRows::long_row(int row) { return std::move(*lanes_of_row(row, 0, v_.lanes())); }

/// The sum of a row's lanes first_lane + i, + width, + 2 * width, … (i below the vector's lanes): the
/// halves of what a fold from `packed_rows_limit` lanes down to `width` adds.
std::optional<Vec> PackedRows::lanes_of_row(int row, int first_lane, int width) {
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
  elements_->load(part, tensors_.diff_dst() + (row * length_ + first_lane) * elements_->size(),
                  partial ? part_tail_ : whole_);
  return part;
}

void PackedRows::update() {
  Xbyak::Label done;
  for (int first = 0; first < length_; first += update_.unroll()) {
    if (first > 0) {
      a_.cmp(r64(block_end_), first * elements_->vector_bytes());
      a_.jbe(done, Xbyak::CodeGenerator::T_NEAR);
    }
    update_.group({std::min(update_.unroll(), length_ - first),
                   [this, first](const Xbyak::Reg64& tensor, int index) {
                     return tensor + (first + index) * elements_->vector_bytes();
                   },
                   [this, first](int index, const Vec& scratch) -> const Vec& {
                     std::vector<std::uint32_t> lanes;
                     for (int lane = 0; lane < v_.lanes(); ++lane) {
                       const int row = ((first + index) * v_.lanes() + lane) / length_;
                       lanes.push_back(lane_of_row_[static_cast<std::size_t>(row)]);
                     }
                     v_.move(scratch, v_.constant_lanes(lanes));
                     v_.permute(scratch, sums_, scratch);
                     return scratch;
                   },
                   whole_});
  }
  a_.L(done);
}

/// After the whole blocks: copies the rest to the stack and goes back to `again` for one block more; then
/// copies its results out.
void PackedRows::take_rest(const Xbyak::Label& again) {
  Xbyak::Label done;
  Xbyak::Label has_results;
  a_.mark("the rows that are left, on a copy");
  a_.test(r64(rest_bytes_), r64(rest_bytes_));
  a_.jle(done);
  a_.test(r64(rest_diff_src_), r64(rest_diff_src_));
  a_.jnz(has_results);
  copy_in(tensors_.activation(), 0);
  copy_in(tensors_.diff_dst(), copy_bytes());
  a_.mov(r64(rest_diff_src_), tensors_.diff_src());
  a_.mov(tensors_.activation(), a_.rsp);
  a_.lea(tensors_.diff_dst(), a_.ptr[a_.rsp + copy_bytes()]);
  if (tensors_.diff_src() != tensors_.diff_dst()) {
    a_.mov(tensors_.diff_src(), tensors_.diff_dst());
  }
  a_.mov(Assembler::r32(blocks_), 1);
  a_.mov(r64(block_end_), r64(rest_bytes_));
  a_.jmp(again);
  a_.L(has_results);
  copy_out(a_.rsp + copy_bytes());
  a_.L(done);
}

void PackedRows::copy_in(const Xbyak::Reg64& tensor, int to) {
  const Vec zero = v_.vec("zero");
  v_.zero(zero);
  for (int offset = 0; offset < copy_bytes(); offset += 64) {
    for (int part = 0; part < 64; part += 4 * v_.lanes()) {
      v_.store_raw(a_.ptr[a_.rsp + to + offset + part], zero);
    }
  }
  const General target = a_.general("copy");
  a_.lea(r64(target), a_.ptr[a_.rsp + to]);
  copy_adjacent(v_, target, tensor, rest_bytes_);
}

/// The rest's results. What lies between them is not theirs: these go as elements, which rounds them once
/// more and changes nothing.
void PackedRows::copy_out(const Xbyak::RegExp& from) {
  if (gap_ == 0) {
    copy_adjacent(v_, rest_diff_src_, from, rest_bytes_);
    return;
  }
  a_.mov(r64(blocks_), a_.qword[Assembler::args() + static_cast<int>(offsetof(KernelArgs, outer))]);
  a_.and_(r64(blocks_), v_.lanes() - 1);
  a_.imul(r64(blocks_), r64(blocks_), length_);
  copy_elements(v_, *elements_, rest_diff_src_, from, blocks_);
}

}  // namespace

void emit_packed_rows(const KernelSpec& spec, VectorUnit& v) {
  v.assembler().enter(4);
  v.assembler().mark("arguments");
  PackedRows(spec, v).emit();
}

}  // namespace gradjit::jit
