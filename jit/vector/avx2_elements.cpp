// Elements on AVX2. f32 has masked loads and stores; sixteen-bit types have none, so that a partial
// vector is read and written in pieces of 4, 2 and 1.

#include <algorithm>
#include <array>

#include "jit/vector/avx2.hpp"

namespace gradjit::jit {

namespace {

constexpr std::uint32_t exponent_bits = 0x7F800000U;
constexpr std::uint32_t sign_bit = 0x80000000U;
constexpr std::uint32_t quiet_bit = 0x00400000U;

}  // namespace

class Avx2Elements : public Elements {
 public:
  Avx2Elements(Avx2& v, DataType dtype)
      : Elements(v, static_cast<int>(size_of(dtype))), a_(v.assembler()), dtype_(dtype) {}

  int scratch_registers() const override { return dtype_ == DataType::bf16 ? 3 : 1; }

  Tail tail(int count) override {
    Tail tail;
    if (count == v_.lanes()) {
      return tail;
    }
    tail.fixed = count;
    if (dtype_ == DataType::f32) {
      tail.lanes = v_.vec("tail lanes");
      a_.vmovups(ymm(tail.lanes), a_.ptr[a_.rip + lane_masks() + 4 * (8 - count)]);
    }
    return tail;
  }

  Tail tail(const General& count) override {
    Tail tail;
    tail.count = &count;
    if (dtype_ == DataType::f32) {
      tail.lanes = v_.vec("tail lanes");
      const General masks = a_.general("lane masks");
      const General minus_count = a_.general("minus count");
      a_.lea(r64(masks), a_.ptr[a_.rip + lane_masks() + 32]);
      a_.mov(r64(minus_count), r64(count));
      a_.neg(r64(minus_count));
      a_.vmovups(ymm(tail.lanes), a_.ptr[r64(masks) + r64(minus_count) * 4]);
    }
    return tail;
  }

  void load(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) override {
    if (dtype_ == DataType::f32) {
      if (tail.whole()) {
        a_.vmovups(ymm(to), a_.yword[from]);
      } else {
        a_.vmaskmovps(ymm(to), ymm(tail.lanes), a_.yword[from]);
      }
      return;
    }
    if (!tail.whole()) {
      load_pieces(to, from, tail);
    }
    if (dtype_ == DataType::f16) {
      tail.whole() ? a_.vcvtph2ps(ymm(to), a_.xword[from]) : a_.vcvtph2ps(ymm(to), xmm(to));
    } else {
      tail.whole() ? a_.vpmovzxwd(ymm(to), a_.xword[from]) : a_.vpmovzxwd(ymm(to), xmm(to));
      a_.vpslld(ymm(to), ymm(to), 16);
    }
  }

  void store(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) override {
    switch (dtype_) {
      case DataType::f32:
        if (tail.whole()) {
          a_.vmovups(a_.yword[to], ymm(from));
        } else {
          a_.vmaskmovps(a_.yword[to], ymm(tail.lanes), ymm(from));
        }
        return;
      case DataType::f16:
        a_.vcvtps2ph(xmm(from), ymm(from), 0);
        break;
      case DataType::bf16:
        round_to_bf16(from);
        break;
    }
    if (tail.whole()) {
      a_.vmovups(a_.xword[to], xmm(from));
    } else {
      store_pieces(to, from, tail);
    }
  }

  Value read(const Vec& scratch, const Xbyak::RegExp& from, const Tail& tail) override {
    if (dtype_ == DataType::f32 && tail.whole()) {
      return {a_.yword[from]};
    }
    return Elements::read(scratch, from, tail);
  }

 private:
  static Xbyak::Reg64 r64(const General& reg) { return Assembler::r64(reg); }
  static Xbyak::Reg32 r32(const General& reg) { return Assembler::r32(reg); }
  static Xbyak::Xmm xmm(const Vec& vec) { return Xbyak::Xmm(vec.index()); }
  static Xbyak::Ymm ymm(const Vec& vec) { return Xbyak::Ymm(vec.index()); }

  /// Eight words of ones, then eight zeros: read from 8 - n words on, n lanes are ones.
  const Xbyak::Label& lane_masks() {
    std::array<std::uint32_t, 16> words{};
    std::fill_n(words.begin(), 8, 0xFFFFFFFFU);
    return a_.constant(words);
  }

  /// Emits `piece` for each of the pieces of 1, 2 and 4 elements that `tail` has. A count known at
  /// emission selects them now, one in a register by a branch.
  template <typename Piece>
  void if_has(const Tail& tail, int elements, Piece piece) {
    if (tail.count == nullptr) {
      if ((tail.fixed & elements) != 0) {
        piece();
      }
      return;
    }
    Xbyak::Label skip;
    a_.test(r32(*tail.count), elements);
    a_.jz(skip, Xbyak::CodeGenerator::T_NEAR);
    piece();
    a_.L(skip);
  }

  /// The address of the elements that come after the pieces of more than `elements`.
  Xbyak::RegExp after_larger(const Tail& tail, const General& start, const General& index, int elements) {
    const int larger = 7 & ~(2 * elements - 1);
    if (tail.count == nullptr) {
      return r64(start) + 2 * (tail.fixed & larger);
    }
    a_.mov(r32(index), r32(*tail.count));
    a_.and_(r32(index), larger);
    return r64(start) + r64(index) * 2;
  }

  /// The last elements first: each larger piece pushes what is there upwards.
  void load_pieces(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) {
    const General start = a_.general("start of tail");
    const General index = a_.general("index in tail");
    a_.lea(r64(start), a_.ptr[from]);
    a_.vpxor(xmm(to), xmm(to), xmm(to));
    if_has(tail, 1, [&] {
      a_.vpinsrw(xmm(to), xmm(to), a_.word[after_larger(tail, start, index, 1)], 0);
    });
    if_has(tail, 2, [&] {
      const Xbyak::RegExp pair = after_larger(tail, start, index, 2);
      a_.vpslldq(xmm(to), xmm(to), 4);
      a_.vpinsrd(xmm(to), xmm(to), a_.dword[pair], 0);
    });
    if_has(tail, 4, [&] {
      a_.vpslldq(xmm(to), xmm(to), 8);
      a_.vpinsrq(xmm(to), xmm(to), a_.qword[r64(start)], 0);
    });
  }

  void store_pieces(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) {
    const General start = a_.general("start of tail");
    const General index = a_.general("index in tail");
    a_.lea(r64(start), a_.ptr[to]);
    if_has(tail, 4, [&] {
      a_.vmovq(a_.qword[r64(start)], xmm(from));
      a_.vpsrldq(xmm(from), xmm(from), 8);
    });
    if_has(tail, 2, [&] {
      a_.vmovd(a_.dword[after_larger(tail, start, index, 2)], xmm(from));
      a_.vpsrldq(xmm(from), xmm(from), 4);
    });
    if_has(tail, 1, [&] { a_.vpextrw(a_.word[after_larger(tail, start, index, 1)], xmm(from), 0); });
  }

  void round_to_bf16(const Vec& value) {
    const Vec rounded = v_.vec("rounded");
    const Vec choice = v_.vec("lanes of a special case");
    const auto bits = [&](std::uint32_t word) -> Value { return v_.constant_bits(word); };
    const Vec special = v_.vec("special result");
    v_.shift_right(rounded, value, 16);
    v_.bit_and(rounded, rounded, bits(1));  // the last bit that stays: ties go to even
    v_.add_i32(rounded, rounded, bits(0x7FFF));
    v_.add_i32(rounded, rounded, value);
    // Below 2^-126 only the sign is left.
    a_.vpxor(xmm(special), xmm(special), xmm(special));
    v_.bit_and(choice, value, bits(exponent_bits));
    a_.vpcmpeqd(ymm(choice), ymm(choice), ymm(special));
    v_.bit_and(special, value, bits(sign_bit));
    a_.vblendvps(ymm(rounded), ymm(rounded), ymm(special), ymm(choice));
    // A NaN stays one, and quiet.
    a_.vcmpps(ymm(choice), ymm(value), ymm(value), static_cast<std::uint8_t>(Compare::is_nan));
    a_.vorps(ymm(special), ymm(value), static_cast<Value>(v_.constant_bits(quiet_bit)).address());
    a_.vblendvps(ymm(rounded), ymm(rounded), ymm(special), ymm(choice));
    v_.shift_right(rounded, rounded, 16);
    a_.vextracti128(xmm(special), ymm(rounded), 1);
    a_.vpackusdw(xmm(value), xmm(rounded), xmm(special));
  }

  Assembler& a_;
  DataType dtype_;
};

std::unique_ptr<Elements> Avx2::elements(DataType dtype) {
  return std::make_unique<Avx2Elements>(*this, dtype);
}

}  // namespace gradjit::jit
