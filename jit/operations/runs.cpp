// for each line, some runs at a time:
//   runs with one pitch = runs with another
// What is left at a line's end is copied together with some that has been copied already.

#include <cstddef>
#include <memory>
#include <string>

#include "jit/operations/operations.hpp"
#include "jit/vector/loops.hpp"
#include "jit/vector/units.hpp"

namespace gradjit::jit {

namespace {

constexpr int unroll = 4;

/// One side of the copy.
struct Side {
  General line;
  General at;
  int pitch;          ///< In bytes, where the code knows it;
  General any_pitch;  ///< else this has it.
};

class Runs {
 public:
  Runs(const KernelSpec& spec, VectorUnit& v);
  void emit();

 private:
  [[nodiscard]] static Xbyak::Reg64 r64(const General& reg) { return Assembler::r64(reg); }

  [[nodiscard]] Side side(std::size_t tensor, std::size_t stride, int pitch, const char* line,
                          const char* at);
  void line();
  void groups(int unrolled);
  void move_runs(int first);
  void last_group();
  void next_line(const Side& side, std::size_t stride);

  Assembler& a_;
  int size_;
  bool knows_pitches_;
  std::unique_ptr<RunUnits> units_;
  General lines_;
  General left_;  ///< Runs of the line that are left.
  Side from_;
  Side to_;
};

Runs::Runs(const KernelSpec& spec, VectorUnit& v)
    : a_(v.assembler()),
      size_(static_cast<int>(size_of(spec.dtype))),
      knows_pitches_(spec.run.from_pitch != 0),
      units_(v.run_units(size_, spec.run)),
      lines_(a_.argument(offsetof(KernelArgs, outer), "lines")),
      left_(a_.general("runs left")),
      from_(side(offsetof(KernelArgs, activation), offsetof(KernelArgs::Strides, activation),
                 spec.run.from_pitch, "line that is read", "run that is read")),
      to_(side(offsetof(KernelArgs, diff_src), offsetof(KernelArgs::Strides, diff_src), spec.run.to_pitch,
               "line that is written", "run that is written")) {}

Side Runs::side(std::size_t tensor, std::size_t stride, int pitch, const char* line, const char* at) {
  Side side{a_.argument(tensor, line), a_.general(at), pitch * size_, {}};
  if (!knows_pitches_) {
    side.any_pitch = a_.argument(offsetof(KernelArgs, axis_stride) + stride, "bytes between runs");
  }
  return side;
}

void Runs::emit() {
  repeat(a_, lines_, [&] {
    line();
    next_line(from_, offsetof(KernelArgs::Strides, activation));
    next_line(to_, offsetof(KernelArgs::Strides, diff_src));
  });
  a_.leave();
}

void Runs::next_line(const Side& side, std::size_t stride) {
  a_.add(r64(side.line),
         a_.qword[Assembler::args() + static_cast<int>(offsetof(KernelArgs, outer_stride) + stride)]);
}

void Runs::line() {
  a_.mov(r64(left_), a_.qword[Assembler::args() + static_cast<int>(offsetof(KernelArgs, inner))]);
  a_.mov(r64(from_.at), r64(from_.line));
  a_.mov(r64(to_.at), r64(to_.line));
  groups(unroll);
  groups(1);
  if (units_->count() > 1) {
    last_group();
  }
}

/// While at least as many runs are left: `unrolled` times as many as move at once.
void Runs::groups(int unrolled) {
  const int runs = unrolled * units_->count();
  a_.mark("groups of " + std::to_string(runs) + " runs");
  Xbyak::Label next;
  Xbyak::Label done;
  a_.sub(r64(left_), runs);
  a_.jl(done);
  a_.align(16);
  a_.L(next);
  for (int i = 0; i < unrolled; ++i) {
    move_runs(i * units_->count());
  }
  if (knows_pitches_) {
    a_.add(r64(from_.at), runs * from_.pitch);
    a_.add(r64(to_.at), runs * to_.pitch);
  }
  a_.sub(r64(left_), runs);
  a_.jge(next);
  a_.L(done);
  a_.add(r64(left_), runs);
}

/// As many as move at once, from number `first` on. Where pitches are in registers, goes on to the next.
void Runs::move_runs(int first) {
  units_->move_runs(r64(to_.at) + first * to_.pitch, r64(from_.at) + first * from_.pitch);
  if (!knows_pitches_) {
    a_.add(r64(from_.at), r64(from_.any_pitch));
    a_.add(r64(to_.at), r64(to_.any_pitch));
  }
}

void Runs::last_group() {
  a_.mark("the last runs of a line, once more with some before them");
  const General back = a_.general("bytes that have been copied");
  Xbyak::Label done;
  a_.test(r64(left_), r64(left_));
  a_.jz(done);
  a_.sub(r64(left_), units_->count());
  for (const Side* side : {&from_, &to_}) {
    a_.imul(r64(back), r64(left_), side->pitch);
    a_.add(r64(side->at), r64(back));
  }
  move_runs(0);
  a_.L(done);
}

}  // namespace

void emit_runs(const KernelSpec& spec, VectorUnit& v) {
  v.assembler().enter(0);
  v.assembler().mark("arguments");
  Runs(spec, v).emit();
}

}  // namespace gradjit::jit
