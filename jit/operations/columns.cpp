// LogSoftmaxBackward along an axis that is not innermost: a slab has `axis` steps of `inner` adjacent
// columns. Rows of columns are streamed, with what belongs to a column kept in scratch:
//   for each slab:
//     for each group of 8 steps, for each vector of columns: totals (f64) += tree sum (f32)
//     sums (f32) = totals
//     for each step, for each vector of columns: update
// Where the steps of a slab are adjacent, the slab is updated as one run: a vector takes the sums from where
// its first column is in their list on, which goes on with the first ones.

#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "jit/operations/operations.hpp"
#include "jit/operations/softmax_update.hpp"
#include "jit/operations/tree_sum.hpp"
#include "jit/vector/loops.hpp"
#include "jit/vector/strided_elements.hpp"

namespace gradjit::jit {

namespace {

class Columns {
 public:
  Columns(const KernelSpec& spec, VectorUnit& v);
  void emit();

 private:
  [[nodiscard]] static Xbyak::Reg64 r64(const General& reg) { return Assembler::r64(reg); }
  [[nodiscard]] Xbyak::Address argument(std::size_t offset) const {
    return a_.qword[Assembler::args() + static_cast<int>(offset)];
  }

  /// Where a list with so many bytes for a column has the one that `loop_` is at.
  [[nodiscard]] Xbyak::RegExp in_list(int bytes) const {
    return column_.held() ? r64(column_) * bytes : loop_.offset() * (bytes / elements_->size());
  }
  void first_column();
  void next_columns(int vectors);

  void slab();
  void sum_slab();
  void clear_totals();
  void add_steps(int steps, const char* does);
  void narrow_totals();
  void update_slab();
  void measure_list();
  void repeat_sums();
  void update_dense_slab();
  void update_group(int vectors, const Xbyak::RegExp& first, const Tail& tail);
  void advance_phase(int vectors);
  /// Emits a loop over the vectors of f32 (`bytes` = 4) or f64 (8) that all columns take, at `offset`.
  void for_each_column(int bytes, const std::function<void(const Xbyak::Reg64& offset)>& body);
  /// Puts an argument, divided by a power of two, into a counter on the stack.
  void start_count(int counter, std::size_t argument_offset, std::int64_t divisor = 1);
  /// Emits `body` as the body of a loop that runs as often as a counter on the stack says, if at all.
  void repeat_counted(int counter, const std::function<void()>& body);

  KernelSpec spec_;
  VectorUnit& v_;
  Assembler& a_;
  std::unique_ptr<Elements> elements_;
  Tensors tensors_;
  ElementLoop loop_;
  General totals_;  ///< Then the sums.
  General column_;  ///< The number of the one that `loop_` is at, where the offset does not tell.
  // While a slab is summed:
  General step_;
  General fifth_step_;
  General stride_;
  General stride_3_;
  // While a dense slab is updated:
  General slab_bytes_;
  General phase_;  ///< In bytes of the list of sums.
  General last_;   ///< The last offset at which a group is whole.
  General slab_tail_count_;
  Tail slab_tail_;
  Tail whole_;
  SoftmaxUpdate update_;
};

/// What changes rarely lives on the stack.
constexpr int slabs_left = 0;
constexpr int steps_left = 8;
constexpr int saved_tensors = 16;
constexpr int list_bytes = 40;  ///< Of the sums of all columns.
constexpr int frame_bytes = 88;
/// How far a group of so many vectors goes along that list, which then begins anew: in bytes.
constexpr int group_step(int vectors) { return list_bytes + 8 * vectors; }

Columns::Columns(const KernelSpec& spec, VectorUnit& v)
    : spec_(spec),
      v_(v),
      a_(v.assembler()),
      elements_(elements_of(spec, v)),
      tensors_(a_, spec),
      loop_(a_, *elements_, tensors_.aligned()),
      totals_(a_.general("totals of columns")),
      update_(v, *elements_, tensors_) {
  if (static_cast<int>(sizeof(float)) % elements_->size() != 0) {
    column_ = a_.general("number of the column");
  }
}

void Columns::emit() {
  a_.sub(a_.rsp, frame_bytes);
  a_.mark("constants");
  update_.hoist(tree_sum_registers);
  start_count(slabs_left, offsetof(KernelArgs, outer));
  if (spec_.is_dense) {
    measure_list();
  }
  repeat_counted(slabs_left, [&] {
    tensors_.save(saved_tensors);
    slab();
    tensors_.restore(saved_tensors);
    tensors_.advance(offsetof(KernelArgs, outer_stride));
  });
  a_.add(a_.rsp, frame_bytes);
  tensors_.finish();
  a_.leave();
  update_.finish();
}

void Columns::slab() {
  if (spec_.stage == Stage::update) {
    a_.mov(r64(totals_), argument(offsetof(KernelArgs, sums)));
    update_slab();
    return;
  }
  if (spec_.stage == Stage::sum) {
    a_.mov(r64(totals_), argument(offsetof(KernelArgs, totals)));
    sum_slab();
    return;
  }
  a_.mov(r64(totals_), argument(offsetof(KernelArgs, scratch)));
  clear_totals();
  sum_slab();
  narrow_totals();
  if (spec_.is_dense) {
    repeat_sums();
    update_dense_slab();
  } else {
    update_slab();
  }
}

void Columns::sum_slab() {
  start_count(steps_left, offsetof(KernelArgs, axis), columns_group);
  step_ = a_.general("diff_dst of a step");
  fifth_step_ = a_.general("diff_dst of the fifth step");
  stride_ = a_.general("stride of the axis");
  stride_3_ = a_.general("3 strides of the axis");
  a_.mov(r64(stride_), argument(offsetof(KernelArgs, axis_stride.diff_dst)));
  a_.lea(r64(stride_3_), a_.ptr[r64(stride_) + r64(stride_) * 2]);
  a_.mov(r64(step_), tensors_.diff_dst());
  a_.mark("sum diff_dst, 8 steps at a time");
  repeat_counted(steps_left, [&] {
    add_steps(static_cast<int>(columns_group), "sum of diff_dst");
    a_.sub(r64(step_), loop_.offset());
    a_.lea(r64(step_), a_.ptr[r64(step_) + r64(stride_) * 8]);
  });
  if (spec_.axis_rest > 0) {
    a_.mark("sum diff_dst of the last steps");
    add_steps(static_cast<int>(spec_.axis_rest), "sum of diff_dst, last steps");
  }
  step_ = {};
  fifth_step_ = {};
  stride_ = {};
  stride_3_ = {};
}

void Columns::clear_totals() {
  a_.mark("totals = 0");
  const Vec zero = v_.vec("zero");
  v_.zero(zero);
  for_each_column(8, [&](const Xbyak::Reg64& offset) { v_.store_raw(a_.ptr[r64(totals_) + offset], zero); });
}

/// Adds the columns of `steps` steps to the totals; `does` names the loop. `step_` goes along with the
/// columns.
void Columns::add_steps(int steps, const char* does) {
  a_.lea(r64(fifth_step_), a_.ptr[r64(step_) + r64(stride_) * 4]);
  first_column();
  loop_.emit_singly(does, steps, [&](const Tail& tail) {
    std::vector<Summand> summands;
    for (int i = 0; i < steps; ++i) {
      const Xbyak::RegExp first = r64(i < 4 ? step_ : fifth_step_);
      const std::array<Xbyak::RegExp, 4> next{first, first + r64(stride_), first + r64(stride_) * 2,
                                              first + r64(stride_3_)};
      summands.push_back({next.at(static_cast<std::size_t>(i % 4)), &tail});
    }
    const std::optional<Vec> sum = tree_sum(v_, *elements_, summands);
    v_.add_widened(r64(totals_) + in_list(8), *sum);
    if (tail.whole()) {
      a_.add(r64(step_), elements_->vector_bytes());
      a_.add(r64(fifth_step_), elements_->vector_bytes());
      next_columns(1);
    }
  });
}

/// The sums follow the totals; `totals_` then points at them.
void Columns::narrow_totals() {
  a_.mark("sums = totals, rounded to f32");
  const Vec low = v_.vec("low totals");
  const Vec high = v_.vec("high totals");
  const General sums = a_.general("sums");
  a_.mov(r64(sums), argument(offsetof(KernelArgs, inner)));
  a_.add(r64(sums), 15);
  a_.and_(r64(sums), -16);
  a_.lea(r64(sums), a_.ptr[r64(totals_) + r64(sums) * 8]);
  for_each_column(4, [&](const Xbyak::Reg64& offset) {
    const Xbyak::RegExp totals = r64(totals_) + offset * 2;
    v_.load_raw(low, a_.ptr[totals]);
    v_.load_raw(high, a_.ptr[totals + 4 * v_.lanes()]);
    v_.narrow(low, low, high);
    v_.store_raw(a_.ptr[r64(sums) + offset], low);
  });
  a_.mov(r64(totals_), r64(sums));
}

void Columns::update_slab() {
  start_count(steps_left, offsetof(KernelArgs, axis));
  a_.mark("update, step by step");
  repeat_counted(steps_left, [&] {
    first_column();
    loop_.emit(update_.unroll(), [&](int vectors, const Tail& tail) {
      update_group(vectors, in_list(4), tail);
      next_columns(vectors);
    });
    tensors_.advance(offsetof(KernelArgs, axis_stride));
  });
}

/// The sums of its first lane are at `first` in their list.
void Columns::update_group(int vectors, const Xbyak::RegExp& first, const Tail& tail) {
  update_.group({vectors,
                 [this](const Xbyak::Reg64& tensor, int index) {
                   return tensor + loop_.offset() + index * elements_->vector_bytes();
                 },
                 [this, first](int index, const Vec& scratch) -> const Vec& {
                   v_.load_raw(scratch, a_.ptr[r64(totals_) + first + index * 4 * v_.lanes()]);
                   return scratch;
                 },
                 tail});
}

/// How far groups go along the list of sums.
void Columns::measure_list() {
  a_.mark("the list of sums");
  const General list = a_.general("bytes of the sums");
  const General step = a_.general("bytes of a group's sums");
  a_.mov(r64(list), argument(offsetof(KernelArgs, inner)));
  a_.shl(r64(list), 2);
  a_.mov(a_.qword[a_.rsp + list_bytes], r64(list));
  for (int vectors = 1; vectors <= update_.unroll(); ++vectors) {
    Xbyak::Label less;
    Xbyak::Label more;
    a_.mov(Assembler::r32(step), 4 * vectors * v_.lanes());
    a_.L(more);
    a_.cmp(r64(step), r64(list));
    a_.jb(less);
    a_.sub(r64(step), r64(list));
    a_.jmp(more);
    a_.L(less);
    a_.mov(a_.qword[a_.rsp + group_step(vectors)], r64(step));
  }
}

/// After the list of sums, those of the first columns once more.
void Columns::repeat_sums() {
  a_.mark("the first sums once more");
  const General end = a_.general("end of the sums");
  const Vec sums = v_.vec("sums");
  a_.mov(r64(end), r64(totals_));
  a_.add(r64(end), a_.qword[a_.rsp + list_bytes]);
  for (int column = 0; column < update_.unroll() * v_.lanes(); column += v_.lanes()) {
    v_.load_raw(sums, a_.ptr[r64(totals_) + 4 * column]);
    v_.store_raw(a_.ptr[r64(end) + 4 * column], sums);
  }
}

void Columns::update_dense_slab() {
  a_.mark("update the slab");
  phase_ = a_.general("place in the list of sums");
  last_ = a_.general("last offset");
  slab_bytes_ = a_.argument(offsetof(KernelArgs, axis), "bytes of the slab");
  slab_tail_count_ = a_.general("elements after whole vectors");
  a_.imul(r64(slab_bytes_), argument(offsetof(KernelArgs, inner)));
  a_.mov(r64(slab_tail_count_), r64(slab_bytes_));
  a_.and_(r64(slab_tail_count_), v_.lanes() - 1);
  slab_tail_ = elements_->tail(slab_tail_count_);
  a_.imul(r64(slab_bytes_), r64(slab_bytes_), elements_->size());
  a_.xor_(Assembler::r32(phase_), Assembler::r32(phase_));
  a_.xor_(loop_.offset().cvt32(), loop_.offset().cvt32());
  repeat_in_groups(a_, *elements_, r64(slab_bytes_), loop_.offset(), last_, update_.unroll(),
                   [&](int vectors) {
                     update_group(vectors, r64(phase_), whole_);
                     advance_phase(vectors);
                   });
  Xbyak::Label done;
  a_.cmp(loop_.offset(), r64(slab_bytes_));
  a_.je(done, Xbyak::CodeGenerator::T_NEAR);
  update_group(1, r64(phase_), slab_tail_);
  a_.L(done);
}

void Columns::advance_phase(int vectors) {
  const General again = a_.general("place in the list, begun anew");
  a_.add(r64(phase_), a_.qword[a_.rsp + group_step(vectors)]);
  a_.mov(r64(again), r64(phase_));
  a_.sub(r64(again), a_.qword[a_.rsp + list_bytes]);
  a_.cmovae(r64(phase_), r64(again));
}

void Columns::first_column() {
  if (column_.held()) {
    a_.xor_(Assembler::r32(column_), Assembler::r32(column_));
  }
}

void Columns::next_columns(int vectors) {
  if (column_.held()) {
    a_.add(r64(column_), vectors * v_.lanes());
  }
}

void Columns::for_each_column(int bytes, const std::function<void(const Xbyak::Reg64& offset)>& body) {
  const General end = a_.general("end of columns");
  a_.mov(r64(end), argument(offsetof(KernelArgs, inner)));
  a_.add(r64(end), 15);
  a_.and_(r64(end), -16);
  a_.imul(r64(end), r64(end), bytes);
  a_.xor_(loop_.offset().cvt32(), loop_.offset().cvt32());
  Xbyak::Label next;
  a_.L(next);
  body(loop_.offset());
  a_.add(loop_.offset(), 4 * v_.lanes());
  a_.cmp(loop_.offset(), r64(end));
  a_.jb(next);
}

void Columns::start_count(int counter, std::size_t argument_offset, std::int64_t divisor) {
  const General count = a_.general("count");
  a_.mov(r64(count), argument(argument_offset));
  if (divisor > 1) {
    a_.shr(r64(count), std::countr_zero(static_cast<std::uint64_t>(divisor)));
  }
  a_.mov(a_.qword[a_.rsp + counter], r64(count));
}

void Columns::repeat_counted(int counter, const std::function<void()>& body) {
  Xbyak::Label next;
  Xbyak::Label done;
  a_.cmp(a_.qword[a_.rsp + counter], 0);
  a_.jle(done);
  a_.L(next);
  body();
  a_.dec(a_.qword[a_.rsp + counter]);
  a_.jnz(next);
  a_.L(done);
}

}  // namespace

void emit_columns(const KernelSpec& spec, VectorUnit& v) {
  v.assembler().enter(6);
  v.assembler().mark("arguments");
  Columns(spec, v).emit();
}

}  // namespace gradjit::jit
