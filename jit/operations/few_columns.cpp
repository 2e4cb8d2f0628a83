// LogSoftmaxBackward along an axis before a last dimension that is so short that a vector holds several of
// its steps: a slab is `axis` steps of `spec.columns` columns, all adjacent:
//   for each slab:
//     for each group of 8 steps: totals (f64) += tree sum (f32), a column to a lane
//     sums (f32) = totals
//     update the slab as one run, each lane with the sum of the column that its element belongs to
// Lane i of a vector that starts `phase` columns into a step is of column (phase + i) mod `spec.columns`:
// these are read from a list on the stack, and pick the sums for the vector.

#include <bit>
#include <cstddef>
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

/// The columns of so many elements from a step's first on: of any vector from any phase on, in any place of a
/// group.
constexpr int listed_columns = 48;
constexpr int half_group = static_cast<int>(columns_group) / 2;
constexpr int frame_bytes = 4 * listed_columns;

class FewColumns {
 public:
  FewColumns(const KernelSpec& spec, VectorUnit& v);
  void emit();

 private:
  [[nodiscard]] static Xbyak::Reg64 r64(const General& reg) { return Assembler::r64(reg); }
  [[nodiscard]] int columns() const { return spec_.columns; }
  [[nodiscard]] int rest() const { return static_cast<int>(spec_.axis_rest); }
  [[nodiscard]] int rest_steps() const { return rest() % static_cast<int>(columns_group); }
  [[nodiscard]] int group_bytes() const {
    return static_cast<int>(columns_group) * columns() * elements_->size();
  }
  /// Where diff_dst has the columns of step `step` from `offset_` on.
  [[nodiscard]] Xbyak::RegExp step_at(int step) const {
    return tensors_.diff_dst() + r64(offset_) + step * columns() * elements_->size();
  }
  /// A vector holds the first and the fifth step of a group, which is then summed in halves side by side.
  [[nodiscard]] bool sums_halves() const { return half_group * columns() + columns() <= v_.lanes(); }
  /// What whole vectors read beyond the last of a slab's groups is not all in the slab.
  [[nodiscard]] bool last_group_is_apart() const {
    return !sums_halves() && rest_steps() * columns() < v_.lanes() - columns();
  }

  void list_columns();
  void sum_slab();
  void add_halves();
  void add_steps(int steps, int present);
  void add_to_totals(const Vec& sum);
  void update_slab();
  void update_group(int vectors, const Tail& tail);
  void advance_phase(int vectors);

  KernelSpec spec_;
  VectorUnit& v_;
  Assembler& a_;
  std::unique_ptr<Elements> elements_;
  Tensors tensors_;
  General slabs_;
  General slab_bytes_;
  /// In bytes from a slab's start, of the groups that are summed in a loop; negative if there is no group.
  General groups_end_;
  General offset_;
  General phase_;
  General next_phase_;
  General last_;  ///< The last offset at which a group is whole.
  Tail whole_;
  Tail step_;    ///< The columns of one step.
  Tail halves_;  ///< `sums_halves`: from a step of a group up to the fourth one after it.
  Tail tail_;    ///< What is left of a slab after whole vectors.
  std::vector<Vec> totals_;
  Vec sums_;
  Vec second_half_;  ///< `sums_halves`: the lanes of the fifth step.
  SoftmaxUpdate update_;
};

FewColumns::FewColumns(const KernelSpec& spec, VectorUnit& v)
    : spec_(spec),
      v_(v),
      a_(v.assembler()),
      elements_(elements_of(spec, v)),
      tensors_(a_, spec),
      slabs_(a_.argument(offsetof(KernelArgs, outer), "slabs")),
      slab_bytes_(a_.argument(offsetof(KernelArgs, axis), "bytes of a slab")),
      groups_end_(a_.general("end of groups")),
      offset_(a_.general("offset")),
      phase_(a_.general("phase")),
      next_phase_(a_.general("next phase")),
      last_(a_.general("last offset")),
      step_(elements_->tail(columns())),
      sums_(v.vec("sums of the columns")),
      update_(v, *elements_, tensors_) {
  a_.mov(r64(groups_end_), r64(slab_bytes_));
  a_.shr(r64(groups_end_), std::countr_zero(static_cast<unsigned>(columns_group)));
  a_.imul(r64(groups_end_), r64(groups_end_), group_bytes());
  if (sums_halves()) {
    halves_ = elements_->tail((half_group + 1) * columns());
    second_half_ = v_.vec("lanes of the fifth step");
  }
  if (last_group_is_apart()) {
    a_.sub(r64(groups_end_), group_bytes());
  }
  a_.imul(r64(slab_bytes_), r64(slab_bytes_), columns() * elements_->size());
  if (rest() * columns() % v.lanes() != 0) {
    tail_ = elements_->tail(rest() * columns() % v.lanes());
  }
}

void FewColumns::emit() {
  a_.sub(a_.rsp, frame_bytes);
  list_columns();
  a_.mark("constants");
  update_.hoist(tree_sum_registers + 2);
  repeat(a_, slabs_, [&] {
    sum_slab();
    update_slab();
    tensors_.advance(offsetof(KernelArgs, outer_stride));
  });
  a_.add(a_.rsp, frame_bytes);
  tensors_.finish();
  a_.leave();
  update_.finish();
}

void FewColumns::list_columns() {
  a_.mark("the columns of elements");
  const Vec list = v_.vec("columns");
  for (int first = 0; first < listed_columns; first += v_.lanes()) {
    std::vector<std::uint32_t> words;
    for (int i = first; i < first + v_.lanes(); ++i) {
      words.push_back(static_cast<std::uint32_t>(i % columns()));
    }
    v_.move(list, v_.constant_lanes(words));
    v_.store_raw(a_.ptr[a_.rsp + 4 * first], list);
  }
  if (sums_halves()) {
    std::vector<std::uint32_t> words;
    for (int i = 0; i < v_.lanes(); ++i) {
      words.push_back(static_cast<std::uint32_t>((i + half_group * columns()) % v_.lanes()));
    }
    v_.move(second_half_, v_.constant_lanes(words));
  }
}

/// `sums_` then holds a sum in each of the lanes that are columns, and anything in the others.
void FewColumns::sum_slab() {
  constexpr int group = static_cast<int>(columns_group);
  for (int lane = 0; lane < columns(); lane += v_.lanes() / 2) {
    totals_.push_back(v_.vec("totals of the columns"));
    v_.zero(totals_.back());
  }
  a_.mark("sum diff_dst, 8 steps at a time");
  a_.xor_(Assembler::r32(offset_), Assembler::r32(offset_));
  repeat_up_to(a_, r64(groups_end_), r64(offset_), group_bytes(), last_, [&] {
    tensors_.prefetch(step_at(0), group_bytes());
    a_.begin_main_loop("sum of diff_dst", sums_halves() ? half_group : group);
    if (sums_halves()) {
      add_halves();
    } else {
      add_steps(group, group + (last_group_is_apart() ? group : rest_steps()));
    }
  });
  a_.end_main_loop();
  a_.mark("sum diff_dst of the last steps");
  if (last_group_is_apart()) {
    Xbyak::Label no_group;
    a_.test(r64(groups_end_), r64(groups_end_));
    a_.js(no_group);
    add_steps(group, group + rest_steps());
    a_.add(r64(offset_), group_bytes());
    a_.L(no_group);
  }
  if (rest_steps() > 0) {
    add_steps(rest_steps(), rest_steps());
  }
  if (totals_.size() == 1) {
    totals_.push_back(v_.vec("no columns"));
    v_.zero(totals_.back());
  }
  v_.narrow(sums_, totals_.front(), totals_.back());
  totals_.clear();
}

/// Adds the columns of a group to the totals: the sum of its first four steps is where the first step is,
/// that of the last four where the fifth is.
void FewColumns::add_halves() {
  std::vector<Summand> summands;
  for (int i = 0; i < half_group; ++i) {
    summands.push_back({step_at(i), &halves_});
  }
  const std::optional<Vec> sum = tree_sum(v_, *elements_, summands);
  const Vec second = v_.vec("sum of the last four steps");
  v_.permute(second, *sum, second_half_);
  v_.add(*sum, *sum, second);
  add_to_totals(*sum);
}

/// Adds the columns of `steps` steps to the totals. From the first of them on, the slab has `present` steps.
void FewColumns::add_steps(int steps, int present) {
  std::vector<Summand> summands;
  for (int i = 0; i < steps; ++i) {
    const bool has_whole_vector = (present - i) * columns() >= v_.lanes();
    summands.push_back({step_at(i), has_whole_vector ? &whole_ : &step_});
  }
  add_to_totals(*tree_sum(v_, *elements_, summands));
}

void FewColumns::add_to_totals(const Vec& sum) {
  const Vec part = v_.vec("sum as f64");
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    v_.widen(part, sum, i == 1);
    v_.add_f64(totals_[i], totals_[i], part);
  }
}

void FewColumns::update_slab() {
  a_.mark("update the slab");
  a_.xor_(Assembler::r32(offset_), Assembler::r32(offset_));
  a_.xor_(Assembler::r32(phase_), Assembler::r32(phase_));
  repeat_in_groups(a_, *elements_, r64(slab_bytes_), r64(offset_), last_, update_.unroll(), [&](int vectors) {
    update_group(vectors, whole_);
    advance_phase(vectors);
  });
  if (!tail_.whole()) {
    update_group(1, tail_);
  }
}

void FewColumns::update_group(int vectors, const Tail& tail) {
  update_.group({vectors,
                 [this](const Xbyak::Reg64& tensor, int index) {
                   return tensor + r64(offset_) + index * elements_->vector_bytes();
                 },
                 [this](int index, const Vec& scratch) -> const Vec& {
                   const int first = index * v_.lanes() % columns();
                   v_.load_raw(scratch, a_.ptr[a_.rsp + r64(phase_) * 4 + 4 * first]);
                   v_.permute(scratch, sums_, scratch);
                   return scratch;
                 },
                 tail});
}

void FewColumns::advance_phase(int vectors) {
  const int more = vectors * v_.lanes() % columns();
  if (more == 0) {
    return;
  }
  a_.lea(r64(next_phase_), a_.ptr[r64(phase_) + (more - columns())]);
  a_.add(r64(phase_), more);
  a_.cmp(r64(phase_), columns());
  a_.cmovge(r64(phase_), r64(next_phase_));
}

}  // namespace

void emit_few_columns(const KernelSpec& spec, VectorUnit& v) {
  v.assembler().enter(6);
  v.assembler().mark("arguments");
  FewColumns(spec, v).emit();
}

}  // namespace gradjit::jit
