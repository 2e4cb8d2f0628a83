#pragma once

#include <span>

#include "jit/math/exp_model.hpp"
#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

/// Registers for one vector's scale * exp(x).
struct ExpRegisters {
  Vec x;         ///< In: the argument. Lost.
  Vec power;     ///< Out: N + 127 as integers (`careful_mantissa`), or nothing.
  Vec mantissa;  ///< Out: p, so that p * 2^N is the result (`careful_mantissa`), or the result itself.
  Vec scratch;   ///< Held for models with a table only.
};

/// Emits scale * exp(x) as `ExpModel` defines it.
class ExpEmitter {
 public:
  ExpEmitter(VectorUnit& v, const ExpModel& model);

  [[nodiscard]] ExpRegisters registers();
  [[nodiscard]] int registers_per_vector() const { return model_.table_bits == 0 ? 3 : 4; }
  /// Puts constants into registers while more than `reserve` stay free.
  void hoist(int reserve);

  /// For x that one multiplication scales. Several vectors at once hide the latency.
  void fast(std::span<ExpRegisters> vectors);
  /// The same in two steps. Between them, `number` has n, and where that is not `mantissa`, that is free.
  void reduce(std::span<ExpRegisters> vectors) { reduce(vectors, number_is_exponent_); }
  [[nodiscard]] const Vec& number(const ExpRegisters& vector) const {
    return number_is_exponent_ ? vector.power : vector.mantissa;
  }
  void from_reduced(std::span<ExpRegisters> vectors);
  /// For any x: p and, as integers, N + 127.
  void careful_mantissa(ExpRegisters& vector);

  /// to = 2^(biased - 127), for biased exponents of normal numbers.
  void power_of_biased(const Vec& to, const Vec& biased) { v_.shift_left(to, biased, 23); }
  /// An exponent that may be out of range as two factors that are not: `exponent` (an integer, unbiased)
  /// becomes the one, `half` the other.
  void powers_of_halves(const Vec& half, const Vec& exponent);

 private:
  void reduce(std::span<ExpRegisters> vectors, bool keeps_number);
  void scale(ExpRegisters& vector);
  void polynomial(std::span<ExpRegisters> vectors);
  void table(ExpRegisters& vector);

  VectorUnit& v_;
  ExpModel model_;
  Constant log2e_;
  Constant magic_;
  Constant minus_ln2_high_;
  Constant minus_ln2_low_;
  std::vector<Constant> coefficients_;
  Constant table_;
  Constant table_low_;
  Constant exponent_bits_;
  Constant biased_magic_;  ///< Less than t by N, as numbers.
  bool number_is_exponent_;
};

}  // namespace gradjit::jit
