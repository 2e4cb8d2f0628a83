// for each line, `count` elements at a time:
//   pack:    adjacent = elements `step` apart
//   unpack:  elements `step` apart = adjacent
// What is left at a line's end is copied together with some that have been copied already.

#include <cstddef>
#include <memory>
#include <string>

#include "jit/operations/operations.hpp"
#include "jit/vector/loops.hpp"
#include "jit/vector/units.hpp"

namespace gradjit::jit {

namespace {

constexpr int unroll = 4;

class StridedCopy {
 public:
  StridedCopy(const KernelSpec& spec, VectorUnit& v);
  void emit();

 private:
  [[nodiscard]] static Xbyak::Reg64 r64(const General& reg) { return Assembler::r64(reg); }
  [[nodiscard]] int adjacent_bytes() const { return units_->count() * size_; }
  [[nodiscard]] int strided_bytes() const { return adjacent_bytes() * step_; }
  /// What KernelArgs holds at `offset` for the side of this name.
  [[nodiscard]] Xbyak::Address outer_stride(bool of_adjacent) const;

  void line();
  void groups(int vectors);
  void group(int vectors);

  VectorUnit& v_;
  Assembler& a_;
  bool packs_;
  int size_;
  int step_;
  std::unique_ptr<StridedUnits> units_;
  General adjacent_line_;
  General strided_line_;
  General lines_;
  General bytes_;  ///< Of a line's elements.
  General adjacent_;
  General strided_;
  General end_;  ///< Where a line's last groups begin.
};

StridedCopy::StridedCopy(const KernelSpec& spec, VectorUnit& v)
    : v_(v),
      a_(v.assembler()),
      packs_(spec.loop == Loop::pack),
      size_(static_cast<int>(size_of(spec.dtype))),
      step_(spec.step),
      units_(v.strided_units(size_, step_, packs_ ? Strided::load : Strided::store)),
      adjacent_line_(a_.argument(packs_ ? offsetof(KernelArgs, diff_src) : offsetof(KernelArgs, activation),
                                 "adjacent elements of the line")),
      strided_line_(a_.argument(packs_ ? offsetof(KernelArgs, activation) : offsetof(KernelArgs, diff_src),
                                "strided elements of the line")),
      lines_(a_.argument(offsetof(KernelArgs, outer), "lines")),
      bytes_(a_.argument(offsetof(KernelArgs, inner), "bytes of a line's elements")),
      adjacent_(a_.general("adjacent elements")),
      strided_(a_.general("strided elements")),
      end_(a_.general("where the last groups begin")) {
  a_.imul(r64(bytes_), r64(bytes_), size_);
}

Xbyak::Address StridedCopy::outer_stride(bool of_adjacent) const {
  const bool of_target = of_adjacent == packs_;
  const std::size_t member =
      of_target ? offsetof(KernelArgs::Strides, diff_src) : offsetof(KernelArgs::Strides, activation);
  return a_.qword[Assembler::args() + static_cast<int>(offsetof(KernelArgs, outer_stride) + member)];
}

void StridedCopy::emit() {
  repeat(a_, lines_, [&] {
    line();
    a_.add(r64(adjacent_line_), outer_stride(true));
    a_.add(r64(strided_line_), outer_stride(false));
  });
  a_.leave();
}

void StridedCopy::line() {
  a_.mov(r64(adjacent_), r64(adjacent_line_));
  a_.mov(r64(strided_), r64(strided_line_));
  groups(unroll);
  groups(1);
  // `end_` is where the last vector begins.
  a_.mark("the last elements of a line, once more with some before them");
  Xbyak::Label done;
  a_.sub(r64(end_), r64(adjacent_));
  a_.cmp(r64(end_), -adjacent_bytes());
  a_.je(done);
  a_.add(r64(adjacent_), r64(end_));
  a_.imul(r64(end_), r64(end_), step_);
  a_.add(r64(strided_), r64(end_));
  group(1);
  a_.L(done);
}

/// While at least `vectors` vectors are left: a group of them.
void StridedCopy::groups(int vectors) {
  a_.mark("groups of " + std::to_string(vectors * units_->count()) + " elements");
  Xbyak::Label next;
  Xbyak::Label done;
  a_.lea(r64(end_), a_.ptr[r64(adjacent_line_) + r64(bytes_) - vectors * adjacent_bytes()]);
  a_.cmp(r64(adjacent_), r64(end_));
  a_.ja(done);
  a_.align(16);
  a_.L(next);
  group(vectors);
  a_.add(r64(adjacent_), vectors * adjacent_bytes());
  a_.add(r64(strided_), vectors * strided_bytes());
  a_.cmp(r64(adjacent_), r64(end_));
  a_.jbe(next);
  a_.L(done);
}

void StridedCopy::group(int vectors) {
  for (int i = 0; i < vectors; ++i) {
    const Vec elements = v_.vec("elements");
    const Xbyak::RegExp adjacent = r64(adjacent_) + i * adjacent_bytes();
    const Xbyak::RegExp strided = r64(strided_) + i * strided_bytes();
    if (packs_) {
      units_->load_strided(elements, strided, Tail{});
      units_->store_adjacent(adjacent, elements);
    } else {
      units_->load_adjacent(elements, adjacent);
      units_->store_strided(strided, elements, Tail{});
    }
  }
}

}  // namespace

void emit_strided_copy(const KernelSpec& spec, VectorUnit& v) {
  v.assembler().enter(0);
  v.assembler().mark("arguments");
  StridedCopy(spec, v).emit();
}

}  // namespace gradjit::jit
