#include "jit/operations/softmax_update.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

namespace gradjit::jit {

SoftmaxUpdate::SoftmaxUpdate(VectorUnit& v, Elements& elements, Tensors& tensors)
    : v_(v),
      elements_(elements),
      tensors_(tensors),
      model_(log_softmax_exp_model()),
      exp_(v, model_),
      magnitude_bits_(v.constant_bits(0x7FFFFFFFU)),
      greatest_fast_number_(v.constant(greatest_fast_number)) {}

void SoftmaxUpdate::hoist(int reserve) {
  const int per_vector = exp_.registers_per_vector();
  const int scratch = elements_.scratch_registers();
  unroll_ = std::clamp((v_.free_registers() - scratch) / per_vector, 1, 4);
  const int held = std::max(unroll_ * per_vector + scratch, reserve);
  exp_.hoist(held);
  std::array rest{&magnitude_bits_, &greatest_fast_number_};
  v_.hoist(rest, held);
}

void SoftmaxUpdate::group(const Group& group) {
  tensors_.prefetch(group.at(tensors_.activation(), 0), group.vectors * elements_.vector_bytes());
  std::vector<ExpRegisters> lanes;
  for (int i = 0; i < group.vectors; ++i) {
    lanes.push_back(exp_.registers());
  }
  // Where lanes are alike, it does not matter which has which element.
  const bool in_pairs = group.has_one_sum && elements_.pairs_are_cheaper();
  if (in_pairs) {
    std::vector<const Vec*> x;
    for (const ExpRegisters& vector : lanes) {
      x.push_back(&vector.x);
    }
    elements_.load_group(x, group.at(tensors_.activation(), 0), group.tail);
  } else {
    for (int i = 0; i < group.vectors; ++i) {
      elements_.load(lanes[static_cast<std::size_t>(i)].x, group.at(tensors_.activation(), i), group.tail);
    }
  }
  const auto careful = std::make_shared<Xbyak::Label>();
  const auto done = std::make_shared<Xbyak::Label>();
  v_.assembler().mark("dst = n * ln 2 + r");
  exp_.reduce(lanes);
  v_.assembler().mark("is any |dst| great?");
  jump_if_great(lanes, *careful);
  v_.assembler().later([this, group, careful, done] { put_off(group, *careful, *done); });

  v_.assembler().mark("exp(dst) of " + std::to_string(group.vectors) +
                      (group.vectors == 1 ? " vector" : " vectors"));
  exp_.from_reduced(lanes);
  v_.assembler().mark("diff_src = diff_dst - exp(dst) * sum");
  if (in_pairs) {
    finish_in_pairs(group, lanes);
  } else {
    for (int i = 0; i < group.vectors; ++i) {
      finish_vector(group, i, lanes[static_cast<std::size_t>(i)]);
    }
  }
  v_.assembler().L(*done);
}

/// By n, which unlike dst is no signaling NaN: an instruction that takes one would lose what it has found.
void SoftmaxUpdate::jump_if_great(const std::vector<ExpRegisters>& vectors, const Xbyak::Label& careful) {
  const Vec& greatest = vectors[0].mantissa;
  v_.bit_and(greatest, exp_.number(vectors[0]), magnitude_bits_);
  for (std::size_t i = 1; i < vectors.size(); ++i) {
    v_.max_magnitude(greatest, exp_.number(vectors[i]), magnitude_bits_, vectors[i].mantissa);
  }
  v_.jump_if_any(v_.compare(greatest, Compare::not_less_equal_or_nan, greatest_fast_number_), careful);
}

void SoftmaxUpdate::finish_in_pairs(const Group& group, std::vector<ExpRegisters>& vectors) {
  std::vector<const Vec*> diff_dst;
  std::vector<const Vec*> results;
  for (const ExpRegisters& vector : vectors) {
    diff_dst.push_back(&vector.x);
    results.push_back(&vector.mantissa);
  }
  elements_.load_group(diff_dst, group.at(tensors_.diff_dst(), 0), group.tail);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    v_.negated_multiply_add(*results[i], group.sum(static_cast<int>(i), vectors[i].power), *diff_dst[i]);
  }
  tensors_.store(elements_, group.at(tensors_.diff_src(), 0), results, group.tail);
}

/// From exp(dst) in `mantissa`; the other registers are free.
void SoftmaxUpdate::finish_vector(const Group& group, int index, ExpRegisters& vector) {
  const auto& [scratch, sums, result, unused] = vector;
  const Vec& sum = group.sum(index, sums);
  const Value g = elements_.read(scratch, group.at(tensors_.diff_dst(), index), group.tail);
  v_.negated_multiply_add(result, sum, g);
  tensors_.store(elements_, group.at(tensors_.diff_src(), index), result, group.tail);
}

void SoftmaxUpdate::put_off(const Group& group, Xbyak::Label& careful, const Xbyak::Label& done) {
  Assembler& a = v_.assembler();
  a.mark("a group with a dst of great magnitude");
  a.L(careful);
  if (!careful_registers_) {
    careful_registers_ = exp_.registers();
  }
  for (int i = 0; i < group.vectors; ++i) {
    elements_.load(careful_registers_->x, group.at(tensors_.activation(), i), group.tail);
    a.call(careful_exp_);
    finish_vector(group, i, *careful_registers_);
  }
  a.jmp(done, Xbyak::CodeGenerator::T_NEAR);
}

void SoftmaxUpdate::finish() {
  v_.assembler().emit_later();
  if (careful_registers_) {
    careful_exp();
    careful_registers_.reset();
  }
}

/// A function of the kernel's own: exp of `x`, any x, to `mantissa`. 2^N may be out of range: its two
/// halves are not, and only the last product rounds.
void SoftmaxUpdate::careful_exp() {
  Assembler& a = v_.assembler();
  a.mark("exp of any dst");
  a.L(careful_exp_);
  exp_.careful_mantissa(*careful_registers_);
  const auto& [half, exponent, result, unused] = *careful_registers_;
  v_.sub_i32(exponent, exponent, v_.constant_bits(127));
  exp_.powers_of_halves(half, exponent);
  v_.mul(result, result, half);
  v_.mul(result, result, exponent);
  a.ret();
}

}  // namespace gradjit::jit
