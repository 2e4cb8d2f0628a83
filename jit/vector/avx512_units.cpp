// Copies of elements as they are, on AVX-512.

#include <array>

#include "jit/vector/avx512.hpp"
#include "jit/vector/units.hpp"

namespace gradjit::jit {

namespace {

constexpr int vector_bytes = 64;

Xbyak::Zmm zmm(const Vec& vec) { return Xbyak::Zmm(vec.index()); }
Xbyak::Xmm xmm(const Vec& vec) { return Xbyak::Xmm(vec.index()); }
Xbyak::Opmask k(const Opmask& mask) { return Xbyak::Opmask(mask.index()); }

class Avx512Units : public Units {
 public:
  Avx512Units(Avx512& v, int size) : Units(v, size), a_(v.assembler()) {}

  void load_quad(const Vec& to, int quad, const Xbyak::RegExp& from) override {
    if (quad == 0) {
      a_.vmovups(xmm(to), a_.xword[from]);
    } else {
      a_.vinserti32x4(zmm(to), zmm(to), a_.xword[from], static_cast<std::uint8_t>(quad));
    }
  }

  void interleave(const Vec& to, const Vec& a, const Vec& b, bool upper) override {
    if (size() == 2) {
      upper ? a_.vpunpckhwd(zmm(to), zmm(a), zmm(b)) : a_.vpunpcklwd(zmm(to), zmm(a), zmm(b));
    } else {
      upper ? a_.vpunpckhdq(zmm(to), zmm(a), zmm(b)) : a_.vpunpckldq(zmm(to), zmm(a), zmm(b));
    }
  }

  void store_quads(const Xbyak::RegExp& to, const Vec& from, int quads) override {
    quads == 1 ? a_.vmovups(a_.xword[to], xmm(from)) : a_.vmovups(a_.zword[to], zmm(from));
  }

 private:
  Assembler& a_;
};

/// Masked loads lay the pieces over one another, and masked stores take them apart.
class Avx512StridedUnits : public StridedUnits {
 public:
  Avx512StridedUnits(Avx512& v, int size, int step, Strided what)
      : StridedUnits(vector_bytes / size),
        a_(v.assembler()),
        size_(size),
        pieces_(pieces_of(count(), step, false)),
        order_(v.vec("order of elements")) {
    const General bits = a_.general("mask bits");
    for (const Pieces::Piece& piece : pieces_.pieces) {
      masks_.emplace_back(a_.opmask_pool(), "elements of a piece");
      a_.mov(Assembler::r64(bits), piece.lanes);
      a_.kmovq(k(masks_.back()), Assembler::r64(bits));
    }
    v.load_raw(order_, a_.ptr[a_.rip + a_.constant(order_words(what))]);
  }

  void load_adjacent(const Vec& to, const Xbyak::RegExp& from) override {
    a_.vmovups(zmm(to), a_.zword[from]);
  }

  void store_adjacent(const Xbyak::RegExp& to, const Vec& from) override {
    a_.vmovups(a_.zword[to], zmm(from));
  }

  void load_strided(const Vec& to, const Xbyak::RegExp& from) override {
    for (std::size_t i = 0; i < masks_.size(); ++i) {
      const Xbyak::Address piece = a_.zword[from + pieces_.pieces[i].first * size_];
      const Xbyak::Zmm merged = zmm(to) | k(masks_[i]);
      const Xbyak::Zmm target = i == 0 ? merged | Xbyak::util::T_z : merged;
      size_ == 2 ? a_.vmovdqu16(target, piece) : a_.vmovups(target, piece);
    }
    permute(to);
  }

  void store_strided(const Xbyak::RegExp& to, const Vec& from) override {
    permute(from);
    for (std::size_t i = 0; i < masks_.size(); ++i) {
      const Xbyak::Address piece = a_.zword[to + pieces_.pieces[i].first * size_] | k(masks_[i]);
      size_ == 2 ? a_.vmovdqu16(piece, zmm(from)) : a_.vmovups(piece, zmm(from));
    }
  }

 private:
  /// For each lane of a permutation's result, the lane that it comes from, in as many bits as an element.
  [[nodiscard]] std::vector<std::uint32_t> order_words(Strided what) const {
    std::vector<std::uint32_t> from(pieces_.lane_of.size());
    for (std::size_t element = 0; element < from.size(); ++element) {
      const auto lane = static_cast<std::size_t>(pieces_.lane_of[element]);
      from[what == Strided::load ? element : lane] =
          static_cast<std::uint32_t>(what == Strided::load ? lane : element);
    }
    std::vector<std::uint32_t> words(vector_bytes / 4);
    const std::size_t per_word = from.size() / words.size();
    for (std::size_t i = 0; i < from.size(); ++i) {
      words[i / per_word] |= from[i] << (16 * (i % per_word));
    }
    return words;
  }

  void permute(const Vec& vector) {
    size_ == 2 ? a_.vpermw(zmm(vector), zmm(order_), zmm(vector))
               : a_.vpermps(zmm(vector), zmm(order_), zmm(vector));
  }

  Assembler& a_;
  int size_;
  Pieces pieces_;
  std::vector<Opmask> masks_;
  Vec order_;
};

}  // namespace

std::unique_ptr<Units> Avx512::units(int size) { return std::make_unique<Avx512Units>(*this, size); }

std::unique_ptr<StridedUnits> Avx512::strided_units(int size, int step, Strided what) {
  return std::make_unique<Avx512StridedUnits>(*this, size, step, what);
}

}  // namespace gradjit::jit
