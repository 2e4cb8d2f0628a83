// Copies of elements as they are, on AVX-512.

#include <algorithm>
#include <vector>

#include "jit/vector/avx512.hpp"
#include "jit/vector/units.hpp"

namespace gradjit::jit {

namespace {

constexpr int vector_bytes = 64;

Xbyak::Zmm zmm(const Vec& vec) { return Xbyak::Zmm(vec.index()); }
Xbyak::Ymm ymm(const Vec& vec) { return Xbyak::Ymm(vec.index()); }
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

  void store_quad(const Xbyak::RegExp& to, const Vec& from, int quad) override {
    if (quad == 0) {
      a_.vmovups(a_.xword[to], xmm(from));
    } else {
      a_.vextracti32x4(a_.xword[to], zmm(from), static_cast<std::uint8_t>(quad));
    }
  }

 private:
  Assembler& a_;
};

/// Sixteen strided elements lie in a few whole vectors of memory, or pieces. Of each piece, a mask tells the
/// lanes that have elements.
///
/// With an odd step, no two pieces have elements in the same lane: masked loads lay them over one another,
/// and one permutation puts the elements in order. With an even step, two pieces at a time are permuted into
/// one vector. (Pieces that lie askew would do for that, too, but most of them cross from one cache line to
/// the next.)
class Avx512StridedUnits : public StridedUnits {
 public:
  Avx512StridedUnits(Avx512& v, int size, int step, Strided what)
      : StridedUnits(strided_count),
        a_(v.assembler()),
        v_(v),
        size_(size),
        step_(step),
        lanes_(vector_bytes / size),
        pieces_((strided_count - 1) * step / lanes_ + 1) {
    for (int piece = 0; piece < pieces_; ++piece) {
      add_mask(piece);
    }
    if (what != Strided::store) {
      const int places = lanes_ * (is_even() && pieces_ > 1 ? 2 : 1);
      load_order_ = order([&](int lane) { return lane * step % places; });
    }
    if (what != Strided::load) {
      // The element whose place is that of the lane in a piece; with an odd step, in whichever piece has one.
      for (int piece = 0; piece < (is_even() ? pieces_ : 1); ++piece) {
        store_orders_.push_back(order([&](int lane) {
          int place = piece * lanes_ + lane;
          while (!is_even() && place % step != 0) {
            place += lanes_;
          }
          return place / step;
        }));
      }
    }
  }

  void load_adjacent(const Vec& to, const Xbyak::RegExp& from) override {
    size_ == 2 ? a_.vmovups(ymm(to), a_.yword[from]) : a_.vmovups(zmm(to), a_.zword[from]);
  }

  void store_adjacent(const Xbyak::RegExp& to, const Vec& from) override {
    size_ == 2 ? a_.vmovups(a_.yword[to], ymm(from)) : a_.vmovups(a_.zword[to], zmm(from));
  }

  Tail tail(const General& count) override {
    Tail tail = StridedUnits::tail(count);
    tail.places = a_.general("places of elements");
    refresh(tail);
    return tail;
  }

  void refresh(const Tail& tail) override {
    const General end = a_.general("end of the elements");
    const Xbyak::Reg64 places = Assembler::r64(tail.places);
    a_.mov(places, places_of(strided_count));
    a_.imul(Assembler::r32(end), Assembler::r32(*tail.count), step_);
    a_.bzhi(places, places, Assembler::r64(end));
  }

  void load_strided(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) override {
    PieceMasks masks(*this, tail);
    if (is_even() && pieces_ > 1) {
      load_pair(to, from, 0, masks);
      if (masks.pieces() > 2) {
        const Vec upper = v_.vec("upper half");
        load_pair(upper, from, 2, masks);
        a_.vinserti64x4(zmm(to), zmm(to), ymm(upper), 1);
      } else if (pieces_ > 2) {
        a_.vmovaps(ymm(to), ymm(to));  // no upper half
      }
      return;
    }
    for (int piece = 0; piece < masks.pieces(); ++piece) {
      const Xbyak::Zmm merged = zmm(to) | masks.next();
      load_piece(piece == 0 ? merged | Xbyak::util::T_z : merged, from, piece);
    }
    permute(to, load_order_, to);
  }

  void store_strided(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) override {
    PieceMasks masks(*this, tail);
    const Vec spread = v_.vec("elements of a piece");
    for (int piece = 0; piece < masks.pieces(); ++piece) {
      if (piece == 0 || is_even()) {
        permute(spread, store_orders_[static_cast<std::size_t>(piece)], from);
      }
      const Xbyak::Address at = a_.zword[to + piece * vector_bytes] | masks.next();
      size_ == 2 ? a_.vmovdqu16(at, zmm(spread)) : a_.vmovups(at, zmm(spread));
    }
  }

 private:
  static constexpr int strided_count = 16;

  /// The masks of a vector's pieces, one after the other.
  class PieceMasks {
   public:
    PieceMasks(const Avx512StridedUnits& units, const Tail& tail) : units_(units), tail_(tail) {
      if (!tail.whole()) {
        rest_ = {units.a_.opmask_pool(), "lanes of a partial vector"};
      }
    }

    /// How many pieces may have elements.
    [[nodiscard]] int pieces() const {
      return tail_.fixed == 0 ? units_.pieces_ : (tail_.fixed - 1) * units_.step_ / units_.lanes_ + 1;
    }

    Xbyak::Opmask next() {
      const int piece = piece_++;
      if (tail_.whole() || (tail_.fixed != 0 && piece + 1 < pieces())) {
        return units_.mask(piece);
      }
      Assembler& a = units_.a_;
      if (tail_.fixed != 0) {
        const General bits = a.general("mask bits");
        a.mov(Assembler::r64(bits), units_.places_of(tail_.fixed) >> (piece * units_.lanes_));
        a.kmovq(k(rest_), Assembler::r64(bits));
      } else if (piece == 0) {
        a.kmovq(k(rest_), Assembler::r64(tail_.places));
      } else {
        a.kshiftrq(k(rest_), k(rest_), static_cast<std::uint8_t>(units_.lanes_));
      }
      return k(rest_);
    }

   private:
    const Avx512StridedUnits& units_;
    const Tail& tail_;
    Opmask rest_;
    int piece_ = 0;
  };

  [[nodiscard]] bool is_even() const { return step_ % 2 == 0; }
  [[nodiscard]] Xbyak::Opmask mask(int piece) const {
    return k(masks_[mask_of_piece_[static_cast<std::size_t>(piece)]]);
  }

  /// A bit for each place from the first element on, set for those of `count` elements, of which 64 bits
  /// tell.
  [[nodiscard]] std::uint64_t places_of(int count) const {
    std::uint64_t places = 0;
    for (int element = 0; element < count; ++element) {
      places |= std::uint64_t{1} << (element * step_);
    }
    return places;
  }

  /// Equal masks are kept once: there are few registers for them.
  void add_mask(int piece) {
    std::uint64_t lanes = 0;
    for (int element = 0; element < strided_count; ++element) {
      const int lane = element * step_ - piece * lanes_;
      lanes |= lane >= 0 && lane < lanes_ ? std::uint64_t{1} << lane : 0;
    }
    const auto known = std::ranges::find(mask_lanes_, lanes);
    mask_of_piece_.push_back(static_cast<std::size_t>(known - mask_lanes_.begin()));
    if (known != mask_lanes_.end()) {
      return;
    }
    mask_lanes_.push_back(lanes);
    masks_.emplace_back(a_.opmask_pool(), "lanes with elements");
    const General bits = a_.general("mask bits");
    a_.mov(Assembler::r64(bits), lanes);
    a_.kmovq(k(masks_.back()), Assembler::r64(bits));
  }

  /// A permutation: for each lane, the one that it takes, in as many bits as an element.
  template <typename Source>
  Vec order(Source source) {
    std::vector<std::uint32_t> words(vector_bytes / 4);
    const int per_word = 4 / size_;
    for (int lane = 0; lane < lanes_; ++lane) {
      const auto from = static_cast<std::uint32_t>(source(lane) % (2 * lanes_));
      words[static_cast<std::size_t>(lane / per_word)] |= from << (16 * (lane % per_word));
    }
    Vec order = v_.vec("order of elements");
    v_.load_raw(order, a_.ptr[a_.rip + a_.constant(words)]);
    return order;
  }

  void load_piece(const Xbyak::Zmm& to, const Xbyak::RegExp& from, int piece) {
    const Xbyak::Address at = a_.zword[from + piece * vector_bytes];
    size_ == 2 ? a_.vmovdqu16(to, at) : a_.vmovups(to, at);
  }

  /// The elements of pieces `first` and `first` + 1, in the lowest lanes.
  void load_pair(const Vec& to, const Xbyak::RegExp& from, int first, PieceMasks& masks) {
    const Vec second = v_.vec("second piece");
    load_piece(zmm(to) | masks.next() | Xbyak::util::T_z, from, first);
    if (first + 1 < masks.pieces()) {
      load_piece(zmm(second) | masks.next() | Xbyak::util::T_z, from, first + 1);
    } else {
      v_.zero(second);
    }
    size_ == 2 ? a_.vpermt2w(zmm(to), zmm(load_order_), zmm(second))
               : a_.vpermt2ps(zmm(to), zmm(load_order_), zmm(second));
  }

  void permute(const Vec& to, const Vec& order, const Vec& from) {
    size_ == 2 ? a_.vpermw(zmm(to), zmm(order), zmm(from)) : a_.vpermps(zmm(to), zmm(order), zmm(from));
  }

  Assembler& a_;
  Avx512& v_;
  int size_;
  int step_;
  int lanes_;
  int pieces_;
  std::vector<std::uint64_t> mask_lanes_;
  std::vector<Opmask> masks_;
  std::vector<std::size_t> mask_of_piece_;
  Vec load_order_;
  std::vector<Vec> store_orders_;
};

}  // namespace

std::unique_ptr<Units> Avx512::units(int size) { return std::make_unique<Avx512Units>(*this, size); }

std::unique_ptr<StridedUnits> Avx512::strided_units(int size, int step, Strided what) {
  return std::make_unique<Avx512StridedUnits>(*this, size, step, what);
}

}  // namespace gradjit::jit
