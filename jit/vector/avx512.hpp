#pragma once

#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

/// AVX-512 F, BW, DQ and VL: thirty-two registers of sixteen lanes. Masks are opmasks. With `bf16`, the
/// instructions of AVX512_BF16 round to bf16.
class Avx512 : public VectorUnit {
 public:
  Avx512(Assembler& assembler, bool bf16);

  [[nodiscard]] int registers_per_mask() const override { return 0; }
  [[nodiscard]] bool scales_by_numbers() const override { return true; }
  void max_magnitude(const Vec& greatest, const Vec& x, const Value& magnitude_bits,
                     const Vec& scratch) override;
  [[nodiscard]] std::unique_ptr<Elements> elements(DataType dtype) override;
  [[nodiscard]] std::unique_ptr<Units> units(int size) override;
  [[nodiscard]] std::unique_ptr<StridedUnits> strided_units(int size, int step, Strided what) override;
  [[nodiscard]] std::unique_ptr<RunUnits> run_units(int size, const RunShape& shape) override;
  [[nodiscard]] Constant constant_bits(std::uint32_t bits) override;
  void move(const Vec& to, const Value& from) override;
  void bit_and(const Vec& to, const Vec& a, const Value& b) override;
  void widen(const Vec& to, const Vec& from, bool upper) override;
  void fold_f64(std::span<const Vec> parts) override;
  void narrow(const Vec& to, const Vec& low, const Vec& high) override;
  [[nodiscard]] Mask compare(const Vec& a, Compare predicate, const Value& b) override;
  void multiply_where(const Mask& mask, const Vec& to, const Vec& a, const Value& b) override;
  void move_where(const Mask& mask, const Vec& to, const Vec& from) override;
  void jump_if_any(const Mask& mask, const Xbyak::Label& target) override;

 protected:
  void shuffle_quads(const Vec& to, const Vec& a, const Vec& b, int distance, bool upper) override;
  [[nodiscard]] std::vector<Origin> quad_origin(int distance) const override;

 private:
  friend class Avx512Elements;
  bool bf16_;
};

}  // namespace gradjit::jit
