// LogSoftmaxBackward along adjacent elements, rows longer than a few vectors:
//   sum(row 0)
//   for each row but the last: update(row) and sum(next row), chunk by chunk side by side
//   update(last row)
// The sum mostly waits for memory and the update for arithmetic: side by side they overlap.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <memory>

#include "jit/operations/operations.hpp"
#include "jit/operations/row_sum.hpp"
#include "jit/operations/softmax_update.hpp"
#include "jit/operations/tree_sum.hpp"
#include "jit/vector/loops.hpp"

namespace gradjit::jit {

namespace {

class Rows {
 public:
  Rows(const KernelSpec& spec, VectorUnit& v);
  void emit();

 private:
  [[nodiscard]] Xbyak::Reg64 r64(const General& reg) const { return Assembler::r64(reg); }
  [[nodiscard]] int rest() const { return static_cast<int>(spec_.axis_rest); }
  [[nodiscard]] Xbyak::RegExp next_row() const { return r64(next_diff_dst_) + r64(offset_); }

  void sum_row();
  void update_row(bool sum_next);
  void update_chunk();
  void update_rest();
  void update_group(int vectors, int first_vector, const Tail& tail);
  void for_each_chunk(const std::function<void()>& body);
  void emit_whole();
  void emit_sum();
  void emit_update();

  KernelSpec spec_;
  VectorUnit& v_;
  Assembler& a_;
  std::unique_ptr<Elements> elements_;
  Tensors tensors_;
  General rows_;
  General chunks_bytes_;
  General offset_;
  General chunk_end_;
  General next_diff_dst_;
  Tail tail_;
  Tail whole_;
  RowSum sum_;
  Vec row_sum_;
  SoftmaxUpdate update_;
};

Rows::Rows(const KernelSpec& spec, VectorUnit& v)
    : spec_(spec),
      v_(v),
      a_(v.assembler()),
      elements_(v.elements(spec.dtype)),
      tensors_(a_, spec),
      rows_(a_.argument(offsetof(KernelArgs, outer), "rows")),
      chunks_bytes_(a_.argument(offsetof(KernelArgs, axis), "bytes of a row's whole chunks")),
      offset_(a_.general("offset")),
      chunk_end_(a_.general("end of chunk")),
      next_diff_dst_(a_.general("next row's diff_dst")),
      sum_(v, *elements_),
      row_sum_(v.vec("row's sum")),
      update_(v, *elements_, tensors_) {
  a_.shr(r64(chunks_bytes_), std::countr_zero(static_cast<unsigned>(rows_chunk)));
  a_.imul(r64(chunks_bytes_), r64(chunks_bytes_), static_cast<int>(rows_chunk) * elements_->size());
  if (rest() % v.lanes() != 0) {
    tail_ = elements_->tail(rest() % v.lanes());
  }
}

void Rows::emit() {
  a_.mark("constants");
  update_.hoist(tree_sum_registers);
  switch (spec_.stage) {
    case Stage::whole:
      emit_whole();
      break;
    case Stage::sum:
      emit_sum();
      break;
    case Stage::update:
      emit_update();
      break;
  }
  a_.leave();
  update_.finish();
}

void Rows::emit_whole() {
  Xbyak::Label done;
  a_.test(r64(rows_), r64(rows_));
  a_.jle(done);
  a_.mov(r64(next_diff_dst_), tensors_.diff_dst());
  a_.mark("sum diff_dst of the first row");
  sum_row();
  v_.broadcast_narrowed(row_sum_, sum_.total());
  a_.dec(r64(rows_));
  repeat(a_, rows_, [&] {
    a_.add(r64(next_diff_dst_),
           a_.qword[Assembler::args() + static_cast<int>(offsetof(KernelArgs, outer_stride.diff_dst))]);
    a_.mark("update a row, sum diff_dst of the next");
    update_row(true);
    v_.broadcast_narrowed(row_sum_, sum_.total());
    tensors_.advance(offsetof(KernelArgs, outer_stride));
  });
  a_.mark("update the last row");
  update_row(false);
  a_.L(done);
}

void Rows::emit_sum() {
  a_.mov(r64(next_diff_dst_), tensors_.diff_dst());
  a_.mark("sum diff_dst of a segment");
  sum_row();
  const Vec& total = sum_.total();
  const General totals = a_.argument(offsetof(KernelArgs, totals), "totals");
  v_.store_scalar_f64(a_.qword[r64(totals)], total);
}

void Rows::emit_update() {
  const General sums = a_.argument(offsetof(KernelArgs, sums), "sums");
  v_.broadcast(row_sum_, a_.dword[r64(sums)]);
  a_.mark("update a segment");
  update_row(false);
}

void Rows::for_each_chunk(const std::function<void()>& body) {
  Xbyak::Label next;
  Xbyak::Label done;
  a_.xor_(Assembler::r32(offset_), Assembler::r32(offset_));
  a_.test(r64(chunks_bytes_), r64(chunks_bytes_));
  a_.jz(done);
  a_.align(16);
  a_.L(next);
  body();
  a_.cmp(r64(offset_), r64(chunks_bytes_));
  a_.jb(next);
  a_.L(done);
}

void Rows::sum_row() {
  sum_.start();
  for_each_chunk([&] {
    sum_.add_chunk(next_row());
    a_.add(r64(offset_), static_cast<int>(rows_chunk) * elements_->size());
  });
  sum_.add_rest(next_row(), rest(), tail_);
}

void Rows::update_row(bool sum_next) {
  if (sum_next) {
    sum_.start();
  }
  for_each_chunk([&] {
    if (sum_next) {
      sum_.add_chunk(next_row());
    }
    update_chunk();
  });
  if (sum_next) {
    sum_.add_rest(next_row(), rest(), tail_);
  }
  update_rest();
}

/// A whole chunk, in groups; `offset_` is advanced.
void Rows::update_chunk() {
  const int vectors = static_cast<int>(rows_chunk) / v_.lanes();
  const int unroll = std::bit_floor(static_cast<unsigned>(update_.unroll()));
  a_.lea(r64(chunk_end_), a_.ptr[r64(offset_) + vectors * elements_->vector_bytes()]);
  Xbyak::Label next;
  a_.L(next);
  update_group(unroll, 0, whole_);
  a_.add(r64(offset_), unroll * elements_->vector_bytes());
  a_.cmp(r64(offset_), r64(chunk_end_));
  a_.jb(next);
}

/// What is left of a row after its chunks.
void Rows::update_rest() {
  const int vectors = rest() / v_.lanes();
  for (int first = 0; first < vectors; first += update_.unroll()) {
    update_group(std::min(update_.unroll(), vectors - first), first, whole_);
  }
  if (!tail_.whole()) {
    update_group(1, vectors, tail_);
  }
}

void Rows::update_group(int vectors, int first_vector, const Tail& tail) {
  update_.group({vectors,
                 [this, first_vector](const Xbyak::Reg64& tensor, int index) {
                   return tensor + r64(offset_) + (first_vector + index) * elements_->vector_bytes();
                 },
                 [this](int, const Vec&) -> const Vec& { return row_sum_; }, tail});
}

}  // namespace

void emit_rows(const KernelSpec& spec, VectorUnit& v) {
  v.assembler().enter(6);
  v.assembler().mark("arguments");
  Rows(spec, v).emit();
}

}  // namespace gradjit::jit
