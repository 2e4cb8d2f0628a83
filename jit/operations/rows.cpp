// LogSoftmaxBackward along adjacent elements, rows longer than a few vectors:
//   sum(row 0)
//   for each row but the last: update(row) and sum(next row), chunk by chunk side by side
//   update(last row)
// The sum mostly waits for memory and the update for arithmetic: side by side they overlap.
// A streaming kernel updates up to where diff_src is aligned first, and chunks from there on. Where rows are
// adjacent, it goes on like that: the vector that ends one row begins the next.

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
#include "jit/vector/strided_elements.hpp"

namespace gradjit::jit {

namespace {

/// On the stack: a row's sum in every lane of a vector, then that of the next row.
constexpr int frame_bytes = 2 * 4 * 16;

class Rows {
 public:
  Rows(const KernelSpec& spec, VectorUnit& v);
  void emit();

 private:
  [[nodiscard]] Xbyak::Reg64 r64(const General& reg) const { return Assembler::r64(reg); }
  [[nodiscard]] int rest() const { return static_cast<int>(spec_.axis_rest); }
  [[nodiscard]] int chunk_bytes() const { return static_cast<int>(rows_chunk) * elements_->size(); }
  /// Rows are adjacent, and updated as one run.
  [[nodiscard]] bool is_run() const { return spec_.is_dense; }
  [[nodiscard]] bool aligns() const { return spec_.stage != Stage::sum && tensors_.aligned().has_value(); }
  /// What is updated is beyond what is summed, by what was updated before: up to where diff_src is aligned,
  /// or with the last vector of the row before.
  [[nodiscard]] bool is_ahead() const { return aligns() || is_run(); }
  /// In bytes, of what is updated.
  [[nodiscard]] Xbyak::Reg64 update_offset() const { return r64(is_ahead() ? update_offset_ : offset_); }
  /// Where a row's last bytes end, from its start.
  [[nodiscard]] Xbyak::RegExp row_end() const { return r64(chunks_bytes_) + rest() * elements_->size(); }
  [[nodiscard]] Xbyak::RegExp next_row() const { return r64(next_diff_dst_) + r64(offset_); }

  void to_next_row();
  void sum_row();
  void update_row(bool sum_next);
  void update_chunk(bool is_main_loop);
  void update_rest();
  void update_up_to_alignment();
  void at_most_a_row(const General& count);
  void update_unaligned_rest();
  void update_boundary();
  void update_whole_vectors();
  void count_left(const Xbyak::Label& none);
  void while_left(int vectors);
  void update_group(int vectors, int first_vector, const Tail& tail);
  void for_each_chunk(const Xbyak::Reg64& end, const std::function<void()>& body);
  void sum_chunk();
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
  General chunks_end_;  ///< Of the chunks that are updated. Held to the end, as `sums_` is.
  General next_diff_dst_;
  General sums_;  ///< Held to the end: what the update puts off comes after the loop.
  General update_offset_;
  General unaligned_count_;  ///< Elements before or after whole vectors.
  Tail unaligned_;
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
      elements_(elements_of(spec, v)),
      tensors_(a_, spec),
      rows_(a_.argument(offsetof(KernelArgs, outer), "rows")),
      chunks_bytes_(a_.argument(offsetof(KernelArgs, axis), "bytes of a row's whole chunks")),
      offset_(a_.general("offset")),
      chunk_end_(a_.general("end of chunk")),
      chunks_end_(a_.general("end of the chunks that are updated")),
      next_diff_dst_(a_.general("next row's diff_dst")),
      sum_(v, *elements_),
      row_sum_(v.vec("row's sum")),
      update_(v, *elements_, tensors_) {
  a_.shr(r64(chunks_bytes_), std::countr_zero(static_cast<unsigned>(rows_chunk)));
  a_.imul(r64(chunks_bytes_), r64(chunks_bytes_), chunk_bytes());
  if (rest() % v.lanes() != 0) {
    tail_ = elements_->tail(rest() % v.lanes());
  }
  if (is_ahead()) {
    update_offset_ = a_.general("offset of what is updated");
    unaligned_count_ = a_.general("elements before or after whole vectors");
    a_.xor_(Assembler::r32(unaligned_count_), Assembler::r32(unaligned_count_));
    unaligned_ = elements_->tail(unaligned_count_);
  }
}

void Rows::emit() {
  if (is_run()) {
    a_.sub(a_.rsp, frame_bytes);
  }
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
  if (is_run()) {
    a_.add(a_.rsp, frame_bytes);
  }
  tensors_.finish();
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
  if (is_run()) {
    update_up_to_alignment();
  }
  a_.dec(r64(rows_));
  repeat(a_, rows_, [&] {
    to_next_row();
    a_.mark("update a row, sum diff_dst of the next");
    update_row(true);
    tensors_.advance(offsetof(KernelArgs, outer_stride));
  });
  a_.mark("update the last row");
  update_row(false);
  a_.L(done);
}

void Rows::emit_sum() {
  a_.mov(r64(next_diff_dst_), tensors_.diff_dst());
  const General totals = a_.argument(offsetof(KernelArgs, totals), "totals");
  repeat(a_, rows_, [&] {
    a_.mark("sum diff_dst of a row, or a segment of one");
    sum_row();
    const Vec& total = sum_.total();
    v_.store_scalar_f64(a_.qword[r64(totals)], total);
    a_.add(r64(totals), static_cast<int>(sizeof(double)));
    to_next_row();
  });
}

void Rows::emit_update() {
  sums_ = a_.argument(offsetof(KernelArgs, sums), "sums");
  repeat(a_, rows_, [&] {
    a_.mark("update a row, or a segment of one");
    v_.broadcast(row_sum_, a_.dword[r64(sums_)]);
    update_row(false);
    a_.add(r64(sums_), static_cast<int>(sizeof(float)));
    tensors_.advance(offsetof(KernelArgs, outer_stride));
  });
}

/// Moves `next_diff_dst_` on by a row.
void Rows::to_next_row() {
  a_.add(r64(next_diff_dst_),
         a_.qword[Assembler::args() + static_cast<int>(offsetof(KernelArgs, outer_stride.diff_dst))]);
}

/// Until `offset_`, which `body` advances, is `end`.
void Rows::for_each_chunk(const Xbyak::Reg64& end, const std::function<void()>& body) {
  Xbyak::Label next;
  Xbyak::Label done;
  a_.cmp(r64(offset_), end);
  a_.jge(done, Xbyak::CodeGenerator::T_NEAR);
  a_.align(16);
  a_.L(next);
  body();
  a_.cmp(r64(offset_), end);
  a_.jl(next);
  a_.L(done);
}

void Rows::sum_row() {
  sum_.start();
  a_.xor_(Assembler::r32(offset_), Assembler::r32(offset_));
  for_each_chunk(r64(chunks_bytes_), [&] {
    a_.begin_main_loop("sum of diff_dst", static_cast<int>(rows_chunk) / v_.lanes());
    sum_chunk();
    a_.add(r64(offset_), chunk_bytes());
    a_.end_main_loop();
  });
  sum_.add_rest(next_row(), rest(), tail_);
}

void Rows::sum_chunk() {
  tensors_.prefetch(next_row(), chunk_bytes());
  sum_.add_chunk(next_row());
}

void Rows::update_row(bool sum_next) {
  if (sum_next) {
    sum_.start();
  }
  a_.xor_(Assembler::r32(offset_), Assembler::r32(offset_));
  a_.mov(r64(chunks_end_), r64(chunks_bytes_));
  if (is_ahead()) {
    if (!is_run()) {
      update_up_to_alignment();
    }
    // One chunk less, where what has been updated leaves less than a whole one.
    const General one_less = a_.general("end of all chunks but one");
    a_.lea(r64(one_less), a_.ptr[r64(chunks_end_) - chunk_bytes()]);
    a_.cmp(update_offset(), rest() * elements_->size());
    a_.cmovg(r64(chunks_end_), r64(one_less));
  }
  for_each_chunk(r64(chunks_end_), [&] {
    if (sum_next) {
      sum_chunk();
    }
    update_chunk(sum_next || spec_.stage == Stage::update);
  });
  if (sum_next) {
    if (is_ahead()) {
      for_each_chunk(r64(chunks_bytes_), [&] {
        sum_chunk();
        a_.add(r64(offset_), chunk_bytes());
      });
    }
    sum_.add_rest(next_row(), rest(), tail_);
  }
  if (!is_ahead()) {
    update_rest();
  } else if (is_run() && sum_next) {
    update_boundary();
    return;
  } else {
    update_unaligned_rest();
  }
  if (sum_next) {
    v_.broadcast_narrowed(row_sum_, sum_.total());
  }
}

/// A whole chunk, in groups; `offset_` is advanced.
void Rows::update_chunk(bool is_main_loop) {
  const int unroll = std::bit_floor(static_cast<unsigned>(update_.unroll()));
  a_.lea(r64(chunk_end_), a_.ptr[update_offset() + chunk_bytes()]);
  Xbyak::Label next;
  a_.L(next);
  if (is_main_loop) {
    a_.begin_main_loop("diff_src", unroll);
  }
  update_group(unroll, 0, whole_);
  a_.add(update_offset(), unroll * elements_->vector_bytes());
  a_.cmp(update_offset(), r64(chunk_end_));
  a_.jb(next);
  if (is_main_loop) {
    a_.end_main_loop();
  }
  if (is_ahead()) {
    a_.add(r64(offset_), chunk_bytes());
  }
}

/// The first elements of a row, as many as lie before an aligned diff_src.
void Rows::update_up_to_alignment() {
  a_.xor_(update_offset().cvt32(), update_offset().cvt32());
  if (!aligns()) {
    return;
  }
  const Xbyak::Reg64 count = r64(unaligned_count_);
  a_.mark("up to where diff_src is aligned");
  count_to_alignment(a_, unaligned_count_, *tensors_.aligned(), *elements_);
  at_most_a_row(unaligned_count_);
  Xbyak::Label none;
  a_.test(count, count);
  a_.jz(none, Xbyak::CodeGenerator::T_NEAR);
  elements_->refresh(unaligned_);
  update_group(1, 0, unaligned_);
  a_.L(none);
  a_.lea(update_offset(), a_.ptr[count * elements_->size()]);
}

/// A segment's last piece may be shorter than a vector.
void Rows::at_most_a_row(const General& count) {
  const General length = a_.general("elements of a row");
  a_.lea(r64(length), a_.ptr[row_end()]);
  a_.shr(r64(length), std::countr_zero(static_cast<unsigned>(elements_->size())));
  a_.cmp(r64(count), r64(length));
  a_.cmovg(r64(count), r64(length));
}

/// What is left of a row after its chunks.
void Rows::update_unaligned_rest() {
  a_.mark("the rest of the row");
  Xbyak::Label none;
  update_whole_vectors();
  count_left(none);
  elements_->refresh(unaligned_);
  update_group(1, 0, unaligned_);
  a_.L(none);
}

/// The same; what is less than a vector becomes one with the first elements of the next row, with whose sum
/// this ends.
void Rows::update_boundary() {
  a_.mark("the rest of the row, and the first elements of the next");
  const int vector = 4 * v_.lanes();
  Xbyak::Label none;
  v_.store_raw(a_.ptr[a_.rsp], row_sum_);
  update_whole_vectors();
  v_.broadcast_narrowed(row_sum_, sum_.total());
  v_.store_raw(a_.ptr[a_.rsp + vector], row_sum_);
  count_left(none);
  a_.neg(r64(unaligned_count_));
  update_.group({1, [this](const Xbyak::Reg64& tensor, int /*index*/) { return tensor + update_offset(); },
                 [this, vector](int /*index*/, const Vec& scratch) -> const Vec& {
                   v_.load_raw(scratch, a_.ptr[a_.rsp + r64(unaligned_count_) * 4 + vector]);
                   return scratch;
                 },
                 whole_});
  a_.add(update_offset(), elements_->vector_bytes());
  a_.L(none);
  a_.sub(update_offset(), r64(chunks_bytes_));
  a_.sub(update_offset(), rest() * elements_->size());
}

void Rows::update_whole_vectors() {
  while_left(update_.unroll());
  while_left(1);
}

/// Counts the elements that are left of a row; jumps if there are none.
void Rows::count_left(const Xbyak::Label& none) {
  const Xbyak::Reg64 count = r64(unaligned_count_);
  a_.lea(count, a_.ptr[row_end()]);
  a_.sub(count, update_offset());
  a_.jz(none, Xbyak::CodeGenerator::T_NEAR);
  a_.shr(count, std::countr_zero(static_cast<unsigned>(elements_->size())));
}

/// Groups of so many vectors while the row has as many left.
void Rows::while_left(int vectors) {
  repeat_up_to(a_, row_end(), update_offset(), vectors * elements_->vector_bytes(), chunk_end_,
               [&] { update_group(vectors, 0, whole_); });
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
                   return tensor + update_offset() + (first_vector + index) * elements_->vector_bytes();
                 },
                 [this](int, const Vec&) -> const Vec& { return row_sum_; }, tail, true});
}

}  // namespace

void emit_rows(const KernelSpec& spec, VectorUnit& v) {
  v.assembler().enter(6);
  v.assembler().mark("arguments");
  Rows(spec, v).emit();
}

}  // namespace gradjit::jit
