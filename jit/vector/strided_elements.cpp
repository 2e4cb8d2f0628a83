#include "jit/vector/strided_elements.hpp"

#include <utility>

#include "jit/vector/units.hpp"

namespace gradjit::jit {

namespace {

/// Elements `step` apart.
class StridedElements : public Elements {
 public:
  StridedElements(VectorUnit& v, std::unique_ptr<Elements> adjacent, int step)
      : Elements(v, adjacent->size() * step),
        adjacent_(std::move(adjacent)),
        units_(v.strided_units(adjacent_->size(), step, Strided::both)) {}

  int scratch_registers() const override { return adjacent_->scratch_registers() + strided_scratch; }

  using Elements::tail;
  Tail tail(const General& count) override { return units_->tail(count); }
  void refresh(const Tail& tail) override { units_->refresh(tail); }

  void load(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) override {
    units_->load_strided(to, from, tail);
    widen(to);
  }

  void store(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) override {
    narrow(from);
    units_->store_strided(to, from, tail);
  }

  /// Kernels with a step don't stream.
  void stream(const Xbyak::RegExp& to, const Vec& from) override { store(to, from, Tail{}); }

  void widen(const Vec& elements) override { adjacent_->widen(elements); }
  void narrow(const Vec& lanes) override { adjacent_->narrow(lanes); }

 private:
  void next_piece(const Vec& /*pieces*/) override {}

  /// What `StridedUnits` takes for itself.
  static constexpr int strided_scratch = 2;

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
