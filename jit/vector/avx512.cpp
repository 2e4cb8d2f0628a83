#include "jit/vector/avx512.hpp"

#include <array>

namespace gradjit::jit {

namespace {

constexpr std::uint32_t exponent_bits = 0x7F800000U;
constexpr std::uint32_t sign_bit = 0x80000000U;
constexpr std::uint32_t upper_half = 0xFFFF0000U;

Xbyak::Opmask k(const Opmask& mask) { return Xbyak::Opmask(mask.index()); }

}  // namespace

/// Elements of one type on AVX-512: partial vectors by opmask.
class Avx512Elements : public Elements {
 public:
  Avx512Elements(Avx512& v, DataType dtype)
      : Elements(v, static_cast<int>(size_of(dtype))), a_(v.assembler()), unit_(v), dtype_(dtype) {}

  int scratch_registers() const override { return 1; }

  Tail tail(int count) override {
    Tail tail;
    if (count == v_.lanes()) {
      return tail;
    }
    tail.fixed = count;
    tail.opmask = {a_.opmask_pool(), "tail"};
    const General bits = a_.general("mask bits");
    a_.mov(Assembler::r32(bits), (1U << count) - 1U);
    a_.kmovw(k(tail.opmask), Assembler::r32(bits));
    return tail;
  }

  Tail tail(const General& count) override {
    Tail tail;
    tail.count = &count;
    tail.opmask = {a_.opmask_pool(), "tail"};
    refresh(tail);
    return tail;
  }

  void refresh(const Tail& tail) override {
    const General bits = a_.general("mask bits");
    a_.mov(Assembler::r32(bits), 0xFFFF);
    a_.bzhi(Assembler::r32(bits), Assembler::r32(bits), Assembler::r32(*tail.count));
    a_.kmovw(k(tail.opmask), Assembler::r32(bits));
  }

  void load(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) override {
    const Xbyak::Zmm target = zeroing(Avx512::zmm(to), tail);
    switch (dtype_) {
      case DataType::f32:
        a_.vmovups(target, a_.zword[from]);
        break;
      case DataType::f16:
        a_.vcvtph2ps(target, a_.yword[from]);
        break;
      case DataType::bf16:
        a_.vpmovzxwd(target, a_.yword[from]);
        a_.vpslld(Avx512::zmm(to), Avx512::zmm(to), 16);
        break;
    }
  }

  void widen(const Vec& elements) override {
    if (dtype_ == DataType::f16) {
      a_.vcvtph2ps(Avx512::zmm(elements), Avx512::ymm(elements));
    } else if (dtype_ == DataType::bf16) {
      a_.vpmovzxwd(Avx512::zmm(elements), Avx512::ymm(elements));
      a_.vpslld(Avx512::zmm(elements), Avx512::zmm(elements), 16);
    }
  }

  void narrow(const Vec& value) override {
    if (dtype_ == DataType::f16) {
      a_.vcvtps2ph(Avx512::ymm(value), Avx512::zmm(value), 0);
    } else if (dtype_ == DataType::bf16 && unit_.bf16_) {
      a_.vcvtneps2bf16(Avx512::ymm(value), Avx512::zmm(value));
    } else if (dtype_ == DataType::bf16) {
      const Vec rounded = rounded_to_bf16(value);
      a_.vpsrld(Avx512::zmm(rounded), Avx512::zmm(rounded), 16);
      a_.vpmovdw(Avx512::ymm(value), Avx512::zmm(rounded));
    }
  }

  void store(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) override {
    narrow(from);
    if (dtype_ == DataType::f32) {
      a_.vmovups(merging(a_.zword[to], tail), Avx512::zmm(from));
    } else if (tail.whole()) {
      a_.vmovups(a_.yword[to], Avx512::ymm(from));
    } else {
      a_.vmovdqu16(merging(a_.yword[to], tail), Avx512::ymm(from));
    }
  }

  void stream(const Xbyak::RegExp& to, const Vec& from) override {
    narrow(from);
    if (dtype_ == DataType::f32) {
      a_.vmovntps(a_.zword[to], Avx512::zmm(from));
    } else {
      a_.vmovntps(a_.yword[to], Avx512::ymm(from));
    }
  }

  bool pairs_are_cheaper() const override { return dtype_ == DataType::bf16; }

  void load_pair(const Vec& a, const Vec& b, const Xbyak::RegExp& from) override {
    if (!pairs_are_cheaper()) {
      Elements::load_pair(a, b, from);
      return;
    }
    // Each word of memory is an even element, then an odd one.
    a_.vmovups(Avx512::zmm(b), a_.zword[from]);
    a_.vpslld(Avx512::zmm(a), Avx512::zmm(b), 16);
    a_.vpandd(Avx512::zmm(b), Avx512::zmm(b), bits(upper_half));
  }

  void store_pair(const Xbyak::RegExp& to, const Vec& a, const Vec& b) override {
    if (!pairs_are_cheaper()) {
      Elements::store_pair(to, a, b);
      return;
    }
    narrow_pair(a, b);
    a_.vmovups(a_.zword[to], Avx512::zmm(a));
  }

  void stream_pair(const Xbyak::RegExp& to, const Vec& a, const Vec& b) override {
    if (!pairs_are_cheaper()) {
      Elements::stream_pair(to, a, b);
      return;
    }
    narrow_pair(a, b);
    a_.vmovntps(a_.yword[to], Avx512::ymm(a));
    a_.vextractf32x8(Avx512::ymm(a), Avx512::zmm(a), 1);
    a_.vmovntps(a_.yword[to + vector_bytes()], Avx512::ymm(a));
  }

  Value read(const Vec& scratch, const Xbyak::RegExp& from, const Tail& tail) override {
    if (dtype_ == DataType::f32 && tail.whole()) {
      return {a_.zword[from]};
    }
    return Elements::read(scratch, from, tail);
  }

 private:
  void next_piece(const Vec& pieces) override {
    constexpr int rotated = 0b00'11'10'01;
    a_.vshuff32x4(Avx512::zmm(pieces), Avx512::zmm(pieces), Avx512::zmm(pieces), rotated);
  }

  static Xbyak::Zmm zeroing(Xbyak::Zmm reg, const Tail& tail) {
    return tail.whole() ? reg : reg | k(tail.opmask) | Xbyak::util::T_z;
  }

  static Xbyak::Address merging(Xbyak::Address address, const Tail& tail) {
    return tail.whole() ? address : address | k(tail.opmask);
  }

  /// The pair as sixteen-bit elements in their order, in `a`. `b` is lost.
  void narrow_pair(const Vec& a, const Vec& b) {
    const Xbyak::Zmm even = Avx512::zmm(a);
    const Xbyak::Zmm odd = Avx512::zmm(b);
    if (unit_.bf16_) {
      std::array<std::uint32_t, 16> interleaved{};  // word i of the lower half, then word i of the upper
      for (std::uint32_t i = 0; i < interleaved.size(); ++i) {
        interleaved[i] = i | (16 + i) << 16;
      }
      a_.vcvtne2ps2bf16(even, odd, even);
      v_.move(b, v_.constant_lanes(interleaved));
      a_.vpermw(even, odd, even);
      return;
    }
    const Vec rounded_even = rounded_to_bf16(a);
    a_.vpsrld(even, Avx512::zmm(rounded_even), 16);
    const Vec rounded_odd = rounded_to_bf16(b);
    constexpr std::uint8_t second_where_third = 0xD8;  // else the first
    a_.vpternlogd(even, Avx512::zmm(rounded_odd), bits(upper_half), second_where_third);
  }

  [[nodiscard]] Xbyak::Address bits(std::uint32_t word) {
    return VectorUnit::broadcast_operand(static_cast<Value>(v_.constant_bits(word)).address());
  }

  /// Without an instruction for it: the result is the upper half of each lane. Adding to the bits that go
  /// rounds to nearest. It never makes an infinity of a NaN: those that get here come from bf16 inputs or
  /// from the CPU itself, and the bits that go are zero.
  Vec rounded_to_bf16(const Vec& value) {
    Vec rounded = v_.vec("rounded");
    const Opmask tiny(a_.opmask_pool(), "below 2^-126");
    const Xbyak::Zmm from = Avx512::zmm(value);
    const Xbyak::Zmm to = Avx512::zmm(rounded);
    a_.vptestnmd(k(tiny), from, bits(exponent_bits));
    a_.vpsrld(to, from, 16);
    a_.vpandd(to, to, bits(1));  // the last bit that stays: ties go to even
    a_.vpaddd(to, to, bits(0x7FFF));
    a_.vpaddd(to, to, from);
    a_.vpandd(to | k(tiny), from, bits(sign_bit));
    return rounded;
  }

  Assembler& a_;
  Avx512& unit_;
  DataType dtype_;
};

Avx512::Avx512(Assembler& assembler, bool bf16) : VectorUnit(assembler, 16), bf16_(bf16) {
  assembler.add_upper_vector_registers();
}

std::unique_ptr<Elements> Avx512::elements(DataType dtype) {
  return std::make_unique<Avx512Elements>(*this, dtype);
}

Constant Avx512::constant_bits(std::uint32_t bits) {
  return Constant(Value::repeated(a_.ptr[a_.rip + a_.constant(std::array{bits})]));
}

void Avx512::move(const Vec& to, const Value& from) {
  if (from.in_register()) {
    a_.vmovaps(zmm(to), Xbyak::Zmm(from.index()));
  } else if (from.is_repeated()) {
    a_.vbroadcastss(zmm(to), from.address());
  } else {
    a_.vmovups(zmm(to), from.address());
  }
}

void Avx512::bit_and(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vpandd(zmm(to), zmm(a), operand); });
}

void Avx512::max_magnitude(const Vec& greatest, const Vec& x, const Value& /*magnitude_bits*/,
                           const Vec& /*scratch*/) {
  constexpr std::uint8_t greater_magnitude_without_sign = 0xB;
  a_.vrangeps(zmm(greatest), zmm(greatest), zmm(x), greater_magnitude_without_sign);
}

void Avx512::shuffle_quads(const Vec& to, const Vec& a, const Vec& b, int distance, bool upper) {
  const int lower_order = distance == 8 ? 0x44 : 0x88;  // quads 0 and 1, or 0 and 2, of each
  const int upper_order = distance == 8 ? 0xEE : 0xDD;  // quads 2 and 3, or 1 and 3
  a_.vshuff32x4(zmm(to), zmm(a), zmm(b), static_cast<std::uint8_t>(upper ? upper_order : lower_order));
}

std::vector<VectorUnit::Origin> Avx512::quad_origin(int distance) const {
  const int second = distance == 8 ? 4 : 8;
  return {{false, 0}, {false, second}, {true, 0}, {true, second}};
}

void Avx512::widen(const Vec& to, const Vec& from, bool upper) {
  if (upper) {
    a_.vextractf32x8(ymm(to), zmm(from), 1);
  }
  a_.vcvtps2pd(zmm(to), ymm(upper ? to : from));
}

void Avx512::fold_f64(std::span<const Vec> parts) {
  const Vec& sum = parts[0];
  const Vec& upper = parts[1];
  a_.vaddpd(zmm(sum), zmm(sum), zmm(upper));
  a_.vextractf64x4(ymm(upper), zmm(sum), 1);
  a_.vaddpd(ymm(sum), ymm(sum), ymm(upper));
  a_.vextractf64x2(xmm(upper), ymm(sum), 1);
  a_.vaddpd(xmm(sum), xmm(sum), xmm(upper));
  a_.vpermilpd(xmm(upper), xmm(sum), 1);
  a_.vaddsd(xmm(sum), xmm(sum), xmm(upper));
}

void Avx512::narrow(const Vec& to, const Vec& low, const Vec& high) {
  a_.vcvtpd2ps(ymm(high), zmm(high));
  a_.vcvtpd2ps(ymm(to), zmm(low));
  a_.vinsertf32x8(zmm(to), zmm(to), ymm(high), 1);
}

Mask Avx512::compare(const Vec& a, Compare predicate, const Value& b) {
  Mask mask;
  mask.opmask = {a_.opmask_pool(), "mask"};
  with(b, [&](const auto& operand) {
    a_.vcmpps(k(mask.opmask), zmm(a), operand, static_cast<std::uint8_t>(predicate));
  });
  return mask;
}

void Avx512::multiply_where(const Mask& mask, const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vmulps(zmm(to) | k(mask.opmask), zmm(a), operand); });
}

void Avx512::move_where(const Mask& mask, const Vec& to, const Vec& from) {
  a_.vmovaps(zmm(to) | k(mask.opmask), zmm(from));
}

void Avx512::jump_if_any(const Mask& mask, const Xbyak::Label& target) {
  a_.kortestw(k(mask.opmask), k(mask.opmask));
  a_.jnz(target, Xbyak::CodeGenerator::T_NEAR);
}

}  // namespace gradjit::jit
