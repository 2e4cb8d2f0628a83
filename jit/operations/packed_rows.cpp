// LogSoftmaxBackward along a short axis of adjacent elements: as many rows at a time as there are lanes.
//   sums:    every lane of a vector holds the sum of a row
//   update:  the rows as adjacent vectors, each lane with the sum of the row that it is in
// Stage::update has only the last of these, with the sums from memory.
// The rows left at the end are done the same way on a copy, filled up with zeros.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

#include "jit/operations/operations.hpp"
#include "jit/operations/packed_sums.hpp"
#include "jit/operations/softmax_update.hpp"
#include "jit/vector/loops.hpp"
#include "jit/vector/strided_elements.hpp"

namespace gradjit::jit {

namespace {

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
  void load_sums();
  void update();
  void take_rest(const Xbyak::Label& again);
  void copy_in(const Xbyak::Reg64& tensor, int to);
  void copy_out(const Xbyak::RegExp& from);

  VectorUnit& v_;
  Assembler& a_;
  std::unique_ptr<Elements> elements_;
  int length_;
  int gap_;  ///< Bytes between the end of an element and the next.
  Tensors tensors_;
  General blocks_;
  General row_sums_;       ///< Stage::update: those of the block.
  General rest_bytes_;     ///< From its first element to the end of its last; if there is none, 0 or less.
  General rest_diff_src_;  ///< Where the rest's results go, once they are being worked on; else null.
  General block_end_;      ///< The rest's bytes, once they are being worked on; else more than any block has.
  General frame_;          ///< The stack pointer without the copies.
  Tail whole_;
  PackedSums tree_;
  Vec sums_;
  std::vector<std::uint32_t> lane_of_row_;  ///< Where in `sums_` a row's sum is.
  SoftmaxUpdate update_;
};

PackedRows::PackedRows(const KernelSpec& spec, VectorUnit& v)
    : v_(v),
      a_(v.assembler()),
      elements_(elements_of(spec, v)),
      length_(static_cast<int>(spec.axis_rest)),
      gap_((spec.step - 1) * static_cast<int>(size_of(spec.dtype))),
      tensors_(a_, spec),
      blocks_(a_.argument(offsetof(KernelArgs, outer), "blocks of rows")),
      row_sums_(spec.stage == Stage::update ? a_.argument(offsetof(KernelArgs, sums), "sums") : General{}),
      rest_bytes_(a_.general("bytes of the rest")),
      rest_diff_src_(a_.general("diff_src of the rest")),
      block_end_(a_.general("end of the block")),
      frame_(a_.general("stack pointer")),
      tree_(v, *elements_, length_),
      sums_(v.vec("sums of rows")),
      update_(v, *elements_, tensors_) {}

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
  update_.hoist(tree_.registers() + 1);

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
    lane_of_row_ = tree_.emit(sums_, tensors_.diff_dst());
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
