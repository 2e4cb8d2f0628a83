#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "jit/math/exp.hpp"
#include "jit/operations/tensors.hpp"

namespace gradjit::jit {

/// Emits diff_src = diff_dst - exp(dst) * sum, the second half of LogSoftmaxBackward.
///
/// An exp that one multiplication by 2^N cannot scale (|dst| > 86, or infinite) is left to code apart from
/// the loops.
class SoftmaxUpdate {
 public:
  SoftmaxUpdate(VectorUnit& v, Elements& elements, Tensors& tensors);

  /// How a group of vectors is found. `at` and `sum` are also called for code that is put off until
  /// `Assembler::emit_later`: registers that they name must be held until then.
  struct Group {
    int vectors;
    /// Where vector `index` of the group lies in the tensor that this register points to; they are adjacent.
    std::function<Xbyak::RegExp(const Xbyak::Reg64& tensor, int index)> at;
    /// The register with the sums for its lanes: one of the user's own, or `scratch` when it has put them
    /// there.
    std::function<const Vec&(int index, const Vec& scratch)> sum;
    /// Of every vector in the group. Must live as long as the registers.
    const Tail& tail;
    /// All lanes have the same sum.
    bool has_one_sum = false;
  };
  void group(const Group& group);

  /// Chooses how many vectors are worked on at once, and puts constants into registers, leaving at least
  /// `reserve` for what happens between groups.
  void hoist(int reserve);
  [[nodiscard]] int unroll() const noexcept { return unroll_; }

  /// Emits the code that the groups have put off. Their registers must still be held.
  void finish();

 private:
  void finish_vector(const Group& group, int index, ExpRegisters& vector);
  void finish_in_pairs(const Group& group, std::vector<ExpRegisters>& vectors);
  void put_off(const Group& group, Xbyak::Label& careful, const Xbyak::Label& done);
  void careful_exp();
  void jump_if_great(const std::vector<ExpRegisters>& vectors, const Xbyak::Label& careful);

  VectorUnit& v_;
  Elements& elements_;
  Tensors& tensors_;
  ExpModel model_;
  ExpEmitter exp_;
  Constant magnitude_bits_;
  Constant greatest_fast_number_;
  int unroll_ = 1;
  std::optional<ExpRegisters> careful_registers_;
  Xbyak::Label careful_exp_;
};

}  // namespace gradjit::jit
