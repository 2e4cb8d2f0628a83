#include "jit/math/exp.hpp"

#include <array>
#include <bit>

namespace gradjit::jit {

namespace {

constexpr std::uint32_t exponent_mask = 0xFF800000U;

Constant four_entries(VectorUnit& v, const std::array<float, 4>& entries) {
  return v.constant_lanes(std::bit_cast<std::array<std::uint32_t, 4>>(entries));
}

}  // namespace

ExpEmitter::ExpEmitter(VectorUnit& v, const ExpModel& model)
    : v_(v),
      model_(model),
      log2e_(v.constant(model.log2e)),
      magic_(v.constant(model.magic)),
      minus_ln2_high_(v.constant(model.minus_ln2_high)),
      minus_ln2_low_(v.constant(model.minus_ln2_low)),
      table_(four_entries(v, model.table)),
      table_low_(four_entries(v, model.table_low)),
      exponent_bits_(v.constant_bits(exponent_mask)),
      biased_magic_(v.constant(model.unbiased_magic + 127)),
      number_is_exponent_(v.scales_by_numbers() && model.table_bits == 0 &&
                          model.magic == model.unbiased_magic + 127) {
  for (int i = 0; i <= model.degree; ++i) {
    coefficients_.push_back(v.constant(model.coefficients[static_cast<std::size_t>(i)]));
  }
}

ExpRegisters ExpEmitter::registers() {
  ExpRegisters vector{v_.vec("x"), v_.vec("power"), v_.vec("mantissa"), {}};
  if (model_.table_bits != 0) {
    vector.scratch = v_.vec("exp scratch");
  }
  return vector;
}

void ExpEmitter::hoist(int reserve) {
  // First what would need a move of its own, then what a multiplication could read from memory.
  std::vector<Constant*> order{&magic_};
  if (model_.table_bits != 0) {
    order.insert(order.end(), {&table_, &table_low_, &coefficients_.back()});
  } else {
    order.push_back(&coefficients_.back());
  }
  order.insert(order.end(), {&log2e_, &minus_ln2_high_});
  if (model_.two_step_reduction) {
    order.push_back(&minus_ln2_low_);
  }
  const std::size_t first = model_.table_bits != 0 ? 2 : 0;
  for (std::size_t i = first; i + 1 < coefficients_.size(); ++i) {
    order.push_back(&coefficients_[i]);
  }
  if (v_.scales_by_numbers() && !number_is_exponent_) {
    order.push_back(&biased_magic_);
  } else if (!v_.scales_by_numbers() && model_.table_bits != 0) {
    order.push_back(&exponent_bits_);
  }
  v_.hoist(order, reserve);
}

void ExpEmitter::fast(std::span<ExpRegisters> vectors) {
  reduce(vectors);
  from_reduced(vectors);
}

void ExpEmitter::from_reduced(std::span<ExpRegisters> vectors) {
  if (model_.table_bits == 0) {
    polynomial(vectors);
  }
  for (ExpRegisters& vector : vectors) {
    if (model_.table_bits != 0) {
      table(vector);
    }
    scale(vector);
  }
}

/// p * 2^N, from `power`: what `reduce` has left there.
void ExpEmitter::scale(ExpRegisters& vector) {
  const Vec& power = vector.power;
  if (v_.scales_by_numbers()) {
    if (!number_is_exponent_) {
      v_.sub(power, power, biased_magic_);
    }
    v_.scale(vector.mantissa, power);
    return;
  }
  v_.shift_left(power, power, 23 - model_.table_bits);
  if (model_.table_bits != 0) {
    v_.bit_and(power, power, exponent_bits_);
  }
  v_.mul(vector.mantissa, vector.mantissa, power);
}

void ExpEmitter::careful_mantissa(ExpRegisters& vector) {
  // Infinities and what overflows or underflows anyway are brought into range; NaN stays.
  v_.move(vector.power, v_.constant(model_.lowest));
  v_.max(vector.x, vector.power, vector.x);
  v_.move(vector.power, v_.constant(model_.highest));
  v_.min(vector.x, vector.power, vector.x);
  const std::span<ExpRegisters> one(&vector, 1);
  reduce(one, false);
  if (model_.table_bits == 0) {
    polynomial(one);
  } else {
    table(vector);
  }
  v_.sub_i32(vector.power, vector.power, v_.constant(model_.unbiased_magic));
  if (model_.table_bits != 0) {
    v_.shift_right_signed(vector.power, vector.power, model_.table_bits);
  }
}

void ExpEmitter::powers_of_halves(const Vec& half, const Vec& exponent) {
  const Constant bias = v_.constant_bits(127);
  v_.shift_right_signed(half, exponent, 1);
  v_.sub_i32(exponent, exponent, half);
  v_.add_i32(half, half, bias);
  v_.add_i32(exponent, exponent, bias);
  power_of_biased(half, half);
  power_of_biased(exponent, exponent);
}

/// `x` becomes r, `power` t; with `keeps_number`, n.
void ExpEmitter::reduce(std::span<ExpRegisters> vectors, bool keeps_number) {
  const auto n = [&](const ExpRegisters& vector) -> const Vec& {
    return keeps_number ? vector.power : vector.mantissa;
  };
  for (ExpRegisters& vector : vectors) {
    v_.move(vector.power, magic_);
  }
  for (ExpRegisters& vector : vectors) {
    v_.add_product(vector.power, vector.x, log2e_);
  }
  for (ExpRegisters& vector : vectors) {
    v_.sub(n(vector), vector.power, magic_);
  }
  for (ExpRegisters& vector : vectors) {
    v_.add_product(vector.x, n(vector), minus_ln2_high_);
  }
  if (model_.two_step_reduction) {
    for (ExpRegisters& vector : vectors) {
      v_.add_product(vector.x, n(vector), minus_ln2_low_);
    }
  }
}

void ExpEmitter::polynomial(std::span<ExpRegisters> vectors) {
  for (ExpRegisters& vector : vectors) {
    v_.move(vector.mantissa, coefficients_.back());
  }
  for (int i = model_.degree - 1; i >= 0; --i) {
    for (ExpRegisters& vector : vectors) {
      v_.multiply_add(vector.mantissa, vector.x, coefficients_[static_cast<std::size_t>(i)]);
    }
  }
}

void ExpEmitter::table(ExpRegisters& vector) {
  const auto& [r, index, p, entry] = vector;
  v_.move(p, coefficients_[4]);
  v_.multiply_add(p, r, coefficients_[3]);
  v_.multiply_add(p, r, coefficients_[2]);
  v_.mul(p, p, r);
  v_.add_product(r, r, p);
  v_.look_up_4(entry, table_, index);
  v_.look_up_4(p, table_low_, index);
  v_.add_product(p, entry, r);
  v_.add(p, entry, p);
}

}  // namespace gradjit::jit
