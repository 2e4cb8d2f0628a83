#include "jit/vector/strided_elements.hpp"

#include <utility>

#include "jit/vector/loops.hpp"
#include "jit/vector/units.hpp"

namespace gradjit::jit {

namespace {

/// A partial vector is put together below the stack pointer, where no signal handler writes.
constexpr int red_zone_bytes = 64;

/// Elements `step` apart. Partial vectors are moved one element at a time.
class StridedElements : public Elements {
 public:
  StridedElements(VectorUnit& v, std::unique_ptr<Elements> adjacent, int step)
      : Elements(v, adjacent->size() * step),
        a_(v.assembler()),
        adjacent_(std::move(adjacent)),
        units_(v.strided_units(adjacent_->size(), step, Strided::both)) {}

  int scratch_registers() const override { return adjacent_->scratch_registers() + strided_scratch; }

  void load(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) override {
    if (tail.whole()) {
      units_->load_strided(to, from);
      widen(to);
      return;
    }
    v_.zero(to);
    for (int bytes = 0; bytes < red_zone_bytes; bytes += 4 * v_.lanes()) {
      v_.store_raw(a_.ptr[red_zone() + bytes], to);
    }
    const General strided = address(from, "strided elements");
    const General adjacent = address(red_zone(), "their copies");
    move_elements(adjacent, adjacent_->size(), strided, size(), tail);
    adjacent_->load(to, red_zone(), Tail{});
  }

  void store(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) override {
    if (tail.whole()) {
      narrow(from);
      units_->store_strided(to, from);
      return;
    }
    adjacent_->store(red_zone(), from, Tail{});
    const General strided = address(to, "strided elements");
    const General adjacent = address(red_zone(), "their copies");
    move_elements(strided, size(), adjacent, adjacent_->size(), tail);
  }

  /// Kernels with a step don't stream.
  void stream(const Xbyak::RegExp& to, const Vec& from) override { store(to, from, Tail{}); }

  void widen(const Vec& elements) override { adjacent_->widen(elements); }
  void narrow(const Vec& lanes) override { adjacent_->narrow(lanes); }

 private:
  /// What `StridedUnits` takes for itself.
  static constexpr int strided_scratch = 2;

  [[nodiscard]] Xbyak::RegExp red_zone() const { return a_.rsp - red_zone_bytes; }

  [[nodiscard]] General address(const Xbyak::RegExp& of, const char* holds) {
    General result = a_.general(holds);
    a_.lea(Assembler::r64(result), a_.ptr[of]);
    return result;
  }

  void move_elements(const General& to, int to_step, const General& from, int from_step, const Tail& tail) {
    const General left = a_.general("elements left");
    const General element = a_.general("element");
    const Xbyak::Reg target = Assembler::r64(element).changeBit(8 * adjacent_->size());
    if (tail.count != nullptr) {
      a_.mov(Assembler::r32(left), Assembler::r32(*tail.count));
    } else {
      a_.mov(Assembler::r32(left), tail.fixed);
    }
    repeat(a_, left, [&] {
      a_.mov(target, a_.ptr[Assembler::r64(from)]);
      a_.mov(a_.ptr[Assembler::r64(to)], target);
      a_.add(Assembler::r64(from), from_step);
      a_.add(Assembler::r64(to), to_step);
    });
  }

  Assembler& a_;
  std::unique_ptr<Elements> adjacent_;
  std::unique_ptr<StridedUnits> units_;
};

}  // namespace

std::unique_ptr<Elements> elements_of(const KernelSpec& spec, VectorUnit& v) {
  std::unique_ptr<Elements> adjacent = v.elements(spec.dtype);
  if (spec.step == 1) {
    return adjacent;
  }
  return std::make_unique<StridedElements>(v, std::move(adjacent), spec.step);
}

}  // namespace gradjit::jit
