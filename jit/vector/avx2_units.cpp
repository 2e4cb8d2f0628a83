// Copies of elements as they are, on AVX2.

#include <algorithm>
#include <array>

#include "jit/vector/avx2.hpp"
#include "jit/vector/units.hpp"

namespace gradjit::jit {

namespace {

/// Strided elements come eight at a time: what blends by an immediate can tell apart.
constexpr int strided_count = 8;

Xbyak::Ymm ymm(const Vec& vec) { return Xbyak::Ymm(vec.index()); }
Xbyak::Xmm xmm(const Vec& vec) { return Xbyak::Xmm(vec.index()); }

class Avx2Units : public Units {
 public:
  Avx2Units(Avx2& v, int size) : Units(v, size), a_(v.assembler()) {}

  void load_quad(const Vec& to, int quad, const Xbyak::RegExp& from) override {
    if (quad == 0) {
      a_.vmovups(xmm(to), a_.xword[from]);
    } else {
      a_.vinserti128(ymm(to), ymm(to), a_.xword[from], 1);
    }
  }

  void interleave(const Vec& to, const Vec& a, const Vec& b, bool upper) override {
    if (size() == 2) {
      upper ? a_.vpunpckhwd(ymm(to), ymm(a), ymm(b)) : a_.vpunpcklwd(ymm(to), ymm(a), ymm(b));
    } else {
      upper ? a_.vpunpckhdq(ymm(to), ymm(a), ymm(b)) : a_.vpunpckldq(ymm(to), ymm(a), ymm(b));
    }
  }

  void store_quad(const Xbyak::RegExp& to, const Vec& from, int quad) override {
    if (quad == 0) {
      a_.vmovups(a_.xword[to], xmm(from));
    } else {
      a_.vextracti128(a_.xword[to], ymm(from), 1);
    }
  }

 private:
  Assembler& a_;
};

/// Strided elements lie in `step` pieces of memory, a vector long each, of which the last ends at the last
/// element. No two have elements in the same lane: blends lay them over one another, and one permutation puts
/// the elements in order. Stores, and partial vectors, go one by one: those with a mask take longer on
/// several processors.
class Avx2StridedUnits : public StridedUnits {
 public:
  Avx2StridedUnits(Avx2& v, int size, int step, Strided what)
      : StridedUnits(strided_count), a_(v.assembler()), v_(v), size_(size), step_(step) {
    if (what != Strided::store) {
      order_ = v.vec("order of elements");
      v.load_raw(order_, a_.ptr[a_.rip + a_.constant(order_words())]);
    }
  }

  void load_adjacent(const Vec& to, const Xbyak::RegExp& from) override {
    size_ == 2 ? a_.vmovups(xmm(to), a_.xword[from]) : a_.vmovups(ymm(to), a_.yword[from]);
  }

  void store_adjacent(const Xbyak::RegExp& to, const Vec& from) override {
    size_ == 2 ? a_.vmovups(a_.xword[to], xmm(from)) : a_.vmovups(a_.yword[to], ymm(from));
  }

  void load_strided(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) override {
    if (!tail.whole()) {
      load_singly(to, from, tail);
      return;
    }
    load_adjacent(to, from);
    for (int piece = 1; piece < step_; ++piece) {
      const Xbyak::Address at = a_.ptr[from + piece * piece_distance * size_];
      const std::uint8_t lanes = lanes_of(piece);
      size_ == 2 ? a_.vpblendw(xmm(to), xmm(to), at, lanes) : a_.vpblendd(ymm(to), ymm(to), at, lanes);
    }
    size_ == 2 ? a_.vpshufb(xmm(to), xmm(to), xmm(order_)) : a_.vpermps(ymm(to), ymm(order_), ymm(to));
  }

  void store_strided(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) override {
    const Vec upper = v_.vec("upper half");
    if (size_ == 4) {
      a_.vextracti128(xmm(upper), ymm(from), 1);
    }
    for_each_element(tail, [&](int i) {
      const Xbyak::RegExp at = to + i * step_ * size_;
      const Xbyak::Xmm quad = xmm(i < per_quad() ? from : upper);
      const auto lane = static_cast<std::uint8_t>(i % per_quad());
      if (size_ == 2) {
        a_.vpextrw(a_.word[at], quad, lane);
      } else if (lane == 0) {
        a_.vmovd(a_.dword[at], quad);
      } else {
        a_.vpextrd(a_.dword[at], quad, lane);
      }
    });
  }

 private:
  [[nodiscard]] int per_quad() const { return 16 / size_; }

  /// Emits `body(i)` for each element. Where a register counts them, each is preceded by a branch to the end:
  /// lines are mostly equally long.
  template <typename Body>
  void for_each_element(const Tail& tail, Body body) {
    Xbyak::Label done;
    const int most = tail.whole() ? strided_count : tail.count == nullptr ? tail.fixed : strided_count - 1;
    for (int i = 0; i < most; ++i) {
      if (tail.count != nullptr && i > 0) {
        a_.cmp(Assembler::r32(*tail.count), i);
        a_.jbe(done);
      }
      body(i);
    }
    a_.L(done);
  }

  void load_singly(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) {
    const Vec upper = v_.vec("upper half");
    v_.zero(to);
    v_.zero(upper);
    for_each_element(tail, [&](int i) {
      const Xbyak::RegExp at = from + i * step_ * size_;
      const Xbyak::Xmm quad = xmm(i < per_quad() ? to : upper);
      const auto lane = static_cast<std::uint8_t>(i % per_quad());
      size_ == 2 ? a_.vpinsrw(quad, quad, a_.word[at], lane) : a_.vpinsrd(quad, quad, a_.dword[at], lane);
    });
    if (size_ == 4) {
      a_.vinserti128(ymm(to), ymm(to), xmm(upper), 1);
    }
  }

  /// From one piece to the next, in elements. It has no common factor with a step from 2 to 6, so that all
  /// elements between two multiples of it fall into different lanes.
  static constexpr int piece_distance = strided_count - 1;

  [[nodiscard]] int piece_of(int element) const {
    return std::min(element * step_ / piece_distance, step_ - 1);
  }
  [[nodiscard]] int lane_of(int element) const {
    return element * step_ - piece_of(element) * piece_distance;
  }

  [[nodiscard]] std::uint8_t lanes_of(int piece) const {
    unsigned lanes = 0;
    for (int element = 0; element < strided_count; ++element) {
      lanes |= piece_of(element) == piece ? 1U << lane_of(element) : 0U;
    }
    return static_cast<std::uint8_t>(lanes);
  }

  /// For each element, its lane; for 2-byte elements as the numbers of its bytes.
  [[nodiscard]] std::array<std::uint32_t, 8> order_words() const {
    std::array<std::uint32_t, 8> words{};
    for (int element = 0; element < strided_count; ++element) {
      const auto lane = static_cast<std::uint32_t>(lane_of(element));
      if (size_ == 4) {
        words[static_cast<std::size_t>(element)] = lane;
      } else {
        words[static_cast<std::size_t>(element / 2)] |= (2 * lane | (2 * lane + 1) << 8)
                                                        << (16 * (element % 2));
      }
    }
    return words;
  }

  Assembler& a_;
  Avx2& v_;
  int size_;
  int step_;
  Vec order_;
};

}  // namespace

std::unique_ptr<Units> Avx2::units(int size) { return std::make_unique<Avx2Units>(*this, size); }

std::unique_ptr<StridedUnits> Avx2::strided_units(int size, int step, Strided what) {
  return std::make_unique<Avx2StridedUnits>(*this, size, step, what);
}

}  // namespace gradjit::jit
