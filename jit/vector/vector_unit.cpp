#include "jit/vector/vector_unit.hpp"

#include <bit>

#include <gradjit/error.hpp>

#include "jit/vector/avx2.hpp"
#include "jit/vector/avx512.hpp"

namespace gradjit::jit {

std::unique_ptr<VectorUnit> VectorUnit::make(Isa isa, Assembler& assembler) {
  switch (isa) {
    case Isa::portable:
      break;
    case Isa::avx2:
      return std::make_unique<Avx2>(assembler);
    case Isa::avx512:
      return std::make_unique<Avx512>(assembler, false);
    case Isa::avx512_bf16:
      return std::make_unique<Avx512>(assembler, true);
  }
  throw Error(ErrorCode::internal, "no code is emitted for isa " + std::string(name_of(isa)));
}

Xbyak::Xmm VectorUnit::reg(int index) const {
  return {lanes_ == 16 ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM, index};
}

std::unique_ptr<RunUnits> VectorUnit::run_units(int /*size*/, const RunShape& /*shape*/) {
  throw Error(ErrorCode::internal, "no copies of runs on this instruction set");
}

Constant VectorUnit::constant(float value) { return constant_bits(std::bit_cast<std::uint32_t>(value)); }

Constant VectorUnit::constant_lanes(std::span<const std::uint32_t> words) {
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(lanes_); ++i) {
    all.push_back(words[i % words.size()]);
  }
  return Constant(Value(a_.ptr[a_.rip + a_.constant(all)]));
}

void VectorUnit::hoist(std::span<Constant* const> constants, int reserve) {
  for (Constant* constant : constants) {
    if (free_registers() <= reserve) {
      return;
    }
    Vec reg = vec("constant");
    move(reg, *constant);
    constant->reg_ = std::move(reg);
  }
}

void Elements::stream_in_pieces(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) {
  Assembler& a = v_.assembler();
  const int piece_elements = piece_bytes / size_;
  const int most = tail.fixed > 0 ? tail.fixed : lanes();
  Xbyak::Label done;
  narrow(from);
  for (int first = 0; first < most; first += piece_elements) {
    if (first > 0) {
      if (tail.count != nullptr) {
        a.cmp(Assembler::r64(*tail.count), first);
        a.jle(done);
      }
      next_piece(from);
    }
    a.vmovntps(a.xword[to + first * size_], Xbyak::Xmm(from.index()));
  }
  a.L(done);
}

void Elements::load_group(std::span<const Vec* const> vectors, const Xbyak::RegExp& from, const Tail& tail) {
  const auto at = [&](std::size_t i) { return from + static_cast<int>(i) * vector_bytes(); };
  for_pairs(
      vectors.size(), tail, [&](std::size_t i) { load_pair(*vectors[i], *vectors[i + 1], at(i)); },
      [&](std::size_t i) { load(*vectors[i], at(i), tail); });
}

void VectorUnit::zero(const Vec& to) {
  // The 128-bit form clears the whole register; the EVEX form is for registers that it cannot name.
  if (to.index() < 16) {
    a_.vxorps(xmm(to), xmm(to), xmm(to));
  } else {
    a_.vpxord(xmm(to), xmm(to), xmm(to));
  }
}

void VectorUnit::broadcast(const Vec& to, const Xbyak::Address& from) { a_.vbroadcastss(reg(to), from); }

void VectorUnit::load_raw(const Vec& to, const Xbyak::Address& from) { a_.vmovups(reg(to), from); }

void VectorUnit::store_raw(const Xbyak::Address& to, const Vec& from) { a_.vmovups(to, reg(from)); }

void VectorUnit::add(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vaddps(reg(to), reg(a), operand); });
}

void VectorUnit::sub(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vsubps(reg(to), reg(a), operand); });
}

void VectorUnit::mul(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vmulps(reg(to), reg(a), operand); });
}

void VectorUnit::multiply_add(const Vec& x, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vfmadd213ps(reg(x), reg(a), operand); });
}

void VectorUnit::add_product(const Vec& sum, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vfmadd231ps(reg(sum), reg(a), operand); });
}

void VectorUnit::negated_multiply_add(const Vec& x, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vfnmadd213ps(reg(x), reg(a), operand); });
}

void VectorUnit::scale(const Vec& x, const Vec& exponent) { a_.vscalefps(reg(x), reg(x), reg(exponent)); }

void VectorUnit::max(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vmaxps(reg(to), reg(a), operand); });
}

void VectorUnit::min(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vminps(reg(to), reg(a), operand); });
}

void VectorUnit::add_i32(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vpaddd(reg(to), reg(a), operand); });
}

void VectorUnit::sub_i32(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vpsubd(reg(to), reg(a), operand); });
}

void VectorUnit::max_i32(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vpmaxsd(reg(to), reg(a), operand); });
}

void VectorUnit::max_u32(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vpmaxud(reg(to), reg(a), operand); });
}

void VectorUnit::shift_left(const Vec& to, const Vec& a, int bits) {
  a_.vpslld(reg(to), reg(a), static_cast<std::uint8_t>(bits));
}

void VectorUnit::shift_right_signed(const Vec& to, const Vec& a, int bits) {
  a_.vpsrad(reg(to), reg(a), static_cast<std::uint8_t>(bits));
}

void VectorUnit::shift_right(const Vec& to, const Vec& a, int bits) {
  a_.vpsrld(reg(to), reg(a), static_cast<std::uint8_t>(bits));
}

void VectorUnit::look_up_4(const Vec& to, const Value& table, const Vec& index) {
  // vpermilps takes its table from a register only.
  if (table.in_register()) {
    a_.vpermilps(reg(to), reg(table.index()), reg(index));
  } else {
    move(to, table);
    a_.vpermilps(reg(to), reg(to), reg(index));
  }
}

void VectorUnit::permute(const Vec& to, const Value& from, const Vec& index) {
  with(from, [&](const auto& operand) {
    if (lanes_ == 16) {
      a_.vpermps(zmm(to), zmm(index), operand);
    } else {
      a_.vpermps(ymm(to), ymm(index), operand);
    }
  });
}

void VectorUnit::fold_pair(const Vec& a, const Vec& b, int distance) {
  // Both halves of what is added are gathered from a and b, then added lane by lane. Below four lanes
  // that happens within 128 bits, where vshufps takes two lanes of each.
  const Vec lower = vec("lower halves");
  if (distance >= 4) {
    shuffle_quads(lower, a, b, distance, false);
    shuffle_quads(b, a, b, distance, true);
  } else {
    a_.vshufps(reg(lower), reg(a), reg(b), distance == 2 ? 0x44 : 0x88);
    a_.vshufps(reg(b), reg(a), reg(b), distance == 2 ? 0xEE : 0xDD);
  }
  add(a, lower, b);
}

std::vector<VectorUnit::Origin> VectorUnit::fold_origin(int distance) const {
  if (distance >= 4) {
    std::vector<Origin> lanes;
    for (const Origin& quad : quad_origin(distance)) {
      for (int i = 0; i < 4; ++i) {
        lanes.push_back({quad.from_b, quad.lane + i});
      }
    }
    return lanes;
  }
  std::vector<Origin> lanes;
  for (int quad = 0; quad < lanes_; quad += 4) {
    for (const bool from_b : {false, true}) {
      lanes.push_back({from_b, quad});
      lanes.push_back({from_b, quad + (distance == 2 ? 1 : 2)});
    }
  }
  return lanes;
}

Xbyak::Address VectorUnit::broadcast_operand(const Xbyak::Address& word) {
  const auto displacement = static_cast<std::int64_t>(word.getDisp());
  return word.getLabel() != nullptr ? Xbyak::Address(0, true, Xbyak::RegRip(displacement, word.getLabel()))
                                    : Xbyak::Address(0, true, word.getRegExp());
}

void VectorUnit::add_widened(std::span<const Vec> parts, const Vec& from) {
  const Vec wide = vec("widened");
  for (const bool upper : {false, true}) {
    const Vec& part = parts[upper ? 1 : 0];
    widen(wide, from, upper);
    add_f64(part, part, wide);
  }
}

void VectorUnit::add_widened(const Xbyak::RegExp& parts, const Vec& from) {
  const Vec wide = vec("widened");
  for (const bool upper : {false, true}) {
    const Xbyak::Address part = a_.ptr[parts + (upper ? 4 * lanes_ : 0)];
    widen(wide, from, upper);
    add_f64(wide, wide, part);
    store_raw(part, wide);
  }
}

void VectorUnit::add_f64(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vaddpd(reg(to), reg(a), operand); });
}

void VectorUnit::store_scalar_f64(const Xbyak::Address& to, const Vec& from) { a_.vmovsd(to, xmm(from)); }

void VectorUnit::broadcast_narrowed(const Vec& to, const Vec& from) {
  a_.vcvtsd2ss(xmm(to), xmm(from), xmm(from));
  a_.vbroadcastss(reg(to), xmm(to));
}

}  // namespace gradjit::jit
