// Elements on AVX2. A partial vector is read and written in pieces of 4, 2 and 1 elements: sixteen-bit types
// have no masked loads and stores, and those of f32 are slow on several processors.

#include "jit/vector/avx2.hpp"

namespace gradjit::jit {

namespace {

constexpr std::uint32_t exponent_bits = 0x7F800000U;
constexpr std::uint32_t upper_half = 0xFFFF0000U;

}  // namespace

class Avx2Elements : public Elements {
 public:
  Avx2Elements(Avx2& v, DataType dtype)
      : Elements(v, static_cast<int>(size_of(dtype))), a_(v.assembler()), dtype_(dtype) {}

  int scratch_registers() const override { return dtype_ == DataType::bf16 ? 2 : 1; }

  void load(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) override {
    if (!tail.whole()) {
      load_pieces(to, from, tail);
    }
    switch (dtype_) {
      case DataType::f32:
        if (tail.whole()) {
          a_.vmovups(ymm(to), a_.yword[from]);
        }
        break;
      case DataType::f16:
        tail.whole() ? a_.vcvtph2ps(ymm(to), a_.xword[from]) : a_.vcvtph2ps(ymm(to), xmm(to));
        break;
      case DataType::bf16:
        tail.whole() ? a_.vpmovzxwd(ymm(to), a_.xword[from]) : a_.vpmovzxwd(ymm(to), xmm(to));
        a_.vpslld(ymm(to), ymm(to), 16);
        break;
    }
  }

  void widen(const Vec& elements) override {
    if (dtype_ == DataType::f16) {
      a_.vcvtph2ps(ymm(elements), xmm(elements));
    } else if (dtype_ == DataType::bf16) {
      a_.vpmovzxwd(ymm(elements), xmm(elements));
      a_.vpslld(ymm(elements), ymm(elements), 16);
    }
  }

  void narrow(const Vec& value) override {
    if (dtype_ == DataType::f16) {
      a_.vcvtps2ph(xmm(value), ymm(value), 0);
    } else if (dtype_ == DataType::bf16) {
      round_to_bf16(value);
      v_.shift_right(value, value, 16);
      const Vec upper = v_.vec("upper half");
      a_.vextracti128(xmm(upper), ymm(value), 1);
      a_.vpackusdw(xmm(value), xmm(value), xmm(upper));
    }
  }

  void store(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) override {
    narrow(from);
    if (!tail.whole()) {
      store_pieces(to, from, tail);
    } else if (dtype_ == DataType::f32) {
      a_.vmovups(a_.yword[to], ymm(from));
    } else {
      a_.vmovups(a_.xword[to], xmm(from));
    }
  }

  void stream(const Xbyak::RegExp& to, const Vec& from) override {
    narrow(from);
    if (dtype_ == DataType::f32) {
      a_.vmovntps(a_.yword[to], ymm(from));
    } else {
      a_.vmovntps(a_.xword[to], xmm(from));
    }
  }

  bool pairs_are_cheaper() const override { return dtype_ == DataType::bf16; }

  void load_pair(const Vec& a, const Vec& b, const Xbyak::RegExp& from) override {
    if (!pairs_are_cheaper()) {
      Elements::load_pair(a, b, from);
      return;
    }
    // Each word of memory is an even element, then an odd one.
    a_.vmovups(ymm(b), a_.yword[from]);
    a_.vpslld(ymm(a), ymm(b), 16);
    v_.bit_and(b, b, v_.constant_bits(upper_half));
  }

  void store_pair(const Xbyak::RegExp& to, const Vec& a, const Vec& b) override {
    if (!pairs_are_cheaper()) {
      Elements::store_pair(to, a, b);
      return;
    }
    narrow_pair(a, b);
    a_.vmovups(a_.yword[to], ymm(b));
  }

  void stream_pair(const Xbyak::RegExp& to, const Vec& a, const Vec& b) override {
    if (!pairs_are_cheaper()) {
      Elements::stream_pair(to, a, b);
      return;
    }
    narrow_pair(a, b);
    a_.vmovntps(a_.xword[to], xmm(b));
    a_.vextractf128(xmm(b), ymm(b), 1);
    a_.vmovntps(a_.xword[to + vector_bytes()], xmm(b));
  }

  Value read(const Vec& scratch, const Xbyak::RegExp& from, const Tail& tail) override {
    if (dtype_ == DataType::f32 && tail.whole()) {
      return {a_.yword[from]};
    }
    return Elements::read(scratch, from, tail);
  }

 private:
  void next_piece(const Vec& pieces) override { a_.vextractf128(xmm(pieces), ymm(pieces), 1); }

  static Xbyak::Reg64 r64(const General& reg) { return Assembler::r64(reg); }
  static Xbyak::Reg32 r32(const General& reg) { return Assembler::r32(reg); }
  static Xbyak::Xmm xmm(const Vec& vec) { return Xbyak::Xmm(vec.index()); }
  static Xbyak::Ymm ymm(const Vec& vec) { return Xbyak::Ymm(vec.index()); }

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
      return r64(start) + size() * (tail.fixed & larger);
    }
    a_.mov(r32(index), r32(*tail.count));
    a_.and_(r32(index), larger);
    return r64(start) + r64(index) * size();
  }

  /// The last elements first: each larger piece pushes what is there upwards.
  void load_pieces(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) {
    const General start = a_.general("start of tail");
    const General index = a_.general("index in tail");
    a_.lea(r64(start), a_.ptr[from]);
    a_.vpxor(xmm(to), xmm(to), xmm(to));
    for (const int elements : {1, 2, 4}) {
      if_has(tail, elements, [&] {
        const Xbyak::RegExp at = after_larger(tail, start, index, elements);
        push_piece(to, at, elements * size());
      });
    }
  }

  /// Puts `bytes` bytes from memory below what is in `to`.
  void push_piece(const Vec& to, const Xbyak::RegExp& at, int bytes) {
    if (bytes == 16) {
      const Vec low = v_.vec("four elements");
      a_.vmovups(xmm(low), a_.xword[at]);
      a_.vinsertf128(ymm(to), ymm(low), xmm(to), 1);
      return;
    }
    a_.vpslldq(xmm(to), xmm(to), static_cast<std::uint8_t>(bytes));
    switch (bytes) {
      case 2:
        a_.vpinsrw(xmm(to), xmm(to), a_.word[at], 0);
        break;
      case 4:
        a_.vpinsrd(xmm(to), xmm(to), a_.dword[at], 0);
        break;
      default:
        a_.vpinsrq(xmm(to), xmm(to), a_.qword[at], 0);
        break;
    }
  }

  void store_pieces(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) {
    const General start = a_.general("start of tail");
    const General index = a_.general("index in tail");
    a_.lea(r64(start), a_.ptr[to]);
    for (const int elements : {4, 2, 1}) {
      if_has(tail, elements, [&] {
        const Xbyak::RegExp at = after_larger(tail, start, index, elements);
        pop_piece(at, from, elements * size());
      });
    }
  }

  /// Writes the lowest `bytes` bytes of `from` to memory, and moves the rest down.
  void pop_piece(const Xbyak::RegExp& at, const Vec& from, int bytes) {
    switch (bytes) {
      case 2:
        a_.vpextrw(a_.word[at], xmm(from), 0);
        break;
      case 4:
        a_.vmovd(a_.dword[at], xmm(from));
        break;
      case 8:
        a_.vmovq(a_.qword[at], xmm(from));
        break;
      default:
        a_.vmovups(a_.xword[at], xmm(from));
        a_.vextractf128(xmm(from), ymm(from), 1);
        return;
    }
    a_.vpsrldq(xmm(from), xmm(from), static_cast<std::uint8_t>(bytes));
  }

  /// The pair as sixteen-bit elements in their order, in `b`. `a` is lost.
  void narrow_pair(const Vec& a, const Vec& b) {
    round_to_bf16(a);
    round_to_bf16(b);
    v_.shift_right(a, a, 16);
    constexpr std::uint8_t even_words = 0x55;
    a_.vpblendw(ymm(b), ymm(b), ymm(a), even_words);
  }

  /// The result is the upper half of each lane. Adding to the bits that go rounds to nearest. It never makes
  /// an infinity of a NaN: those that get here come from bf16 inputs or from the CPU itself, and the bits
  /// that go are zero.
  void round_to_bf16(const Vec& value) {
    const Vec rounded = v_.vec("rounded");
    const Vec magnitude = v_.vec("bits of a tiny number's magnitude");
    const auto bits = [&](std::uint32_t word) -> Value { return v_.constant_bits(word); };
    v_.shift_right(rounded, value, 16);
    v_.bit_and(rounded, rounded, bits(1));  // the last bit that stays: ties go to even
    v_.add_i32(rounded, rounded, bits(0x7FFF));
    v_.add_i32(rounded, rounded, value);
    // Below 2^-126 only the sign is left.
    v_.bit_and(magnitude, value, bits(exponent_bits));
    a_.vpxor(xmm(value), xmm(value), xmm(value));
    a_.vpcmpeqd(ymm(magnitude), ymm(magnitude), ymm(value));
    v_.shift_right(magnitude, magnitude, 1);
    a_.vpandn(ymm(value), ymm(magnitude), ymm(rounded));
  }

  Assembler& a_;
  DataType dtype_;
};

std::unique_ptr<Elements> Avx2::elements(DataType dtype) {
  return std::make_unique<Avx2Elements>(*this, dtype);
}

}  // namespace gradjit::jit
