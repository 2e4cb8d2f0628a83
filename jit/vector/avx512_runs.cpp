// Copies of short runs of elements as they are, on AVX-512.

#include <cstdint>
#include <vector>

#include "jit/vector/avx512.hpp"
#include "jit/vector/units.hpp"

namespace gradjit::jit {

namespace {

constexpr int vector_bytes = 64;

Xbyak::Zmm zmm(const Vec& vec) { return Xbyak::Zmm(vec.index()); }
Xbyak::Opmask k(const Opmask& mask) { return Xbyak::Opmask(mask.index()); }

/// The runs that move at once lie in one or two vectors of memory on either side. Masked loads leave out the
/// gaps, a permutation for each vector that is written closes them or makes others, masked stores leave those
/// out.
class Avx512RunUnits : public RunUnits {
 public:
  Avx512RunUnits(Avx512& v, int size, const RunShape& shape)
      : RunUnits(runs_at_once(Isa::avx512, size, shape)),
        a_(v.assembler()),
        v_(v),
        size_(size),
        lanes_(vector_bytes / size),
        shape_(shape) {
    for (int piece = 0; piece < pieces(shape.from_pitch); ++piece) {
      load_masks_.push_back(mask(piece, shape.from_pitch));
    }
    for (int piece = 0; piece < pieces(shape.to_pitch); ++piece) {
      store_masks_.push_back(mask(piece, shape.to_pitch));
      if (count() > 1) {
        orders_.push_back(order(piece));
      }
    }
  }

  void move_runs(const Xbyak::RegExp& to, const Xbyak::RegExp& from) override {
    std::vector<Vec> loaded;
    for (std::size_t piece = 0; piece < load_masks_.size(); ++piece) {
      loaded.push_back(v_.vec("runs as they are read"));
      const auto masked = zmm(loaded.back()) | k(load_masks_[piece]) | Xbyak::util::T_z;
      const Xbyak::Address at = a_.zword[from + static_cast<int>(piece) * vector_bytes];
      size_ == 2 ? a_.vmovdqu16(masked, at) : a_.vmovups(masked, at);
    }
    const Vec placed = v_.vec("runs as they are written");
    for (std::size_t piece = 0; piece < store_masks_.size(); ++piece) {
      if (count() > 1) {
        permute(placed, orders_[piece], loaded);
      }
      const Vec& elements = count() > 1 ? placed : loaded[piece];
      const auto masked = a_.zword[to + static_cast<int>(piece) * vector_bytes] | k(store_masks_[piece]);
      size_ == 2 ? a_.vmovdqu16(masked, zmm(elements)) : a_.vmovups(masked, zmm(elements));
    }
  }

 private:
  /// How many vectors of memory the runs lie in.
  [[nodiscard]] int pieces(int pitch) const {
    return ((count() - 1) * pitch + shape_.length - 1) / lanes_ + 1;
  }

  /// Whether a place, from the first element on, belongs to a run.
  [[nodiscard]] bool is_in_run(int place, int pitch) const {
    return count() == 1 ? place < shape_.length : place / pitch < count() && place % pitch < shape_.length;
  }

  Opmask mask(int piece, int pitch) {
    std::uint64_t lanes = 0;
    for (int lane = 0; lane < lanes_; ++lane) {
      lanes |= is_in_run(piece * lanes_ + lane, pitch) ? std::uint64_t{1} << lane : 0;
    }
    Opmask mask(a_.opmask_pool(), "lanes with elements");
    const General bits = a_.general("mask bits");
    a_.mov(Assembler::r64(bits), lanes);
    a_.kmovq(k(mask), Assembler::r64(bits));
    return mask;
  }

  /// For each lane of a vector that is written, the one of those that are read that it takes.
  Vec order(int piece) {
    const int per_word = 4 / size_;
    std::vector<std::uint32_t> words(vector_bytes / 4);
    for (int lane = 0; lane < lanes_; ++lane) {
      const int place = piece * lanes_ + lane;
      const int source = is_in_run(place, shape_.to_pitch)
                             ? place / shape_.to_pitch * shape_.from_pitch + place % shape_.to_pitch
                             : 0;
      words[static_cast<std::size_t>(lane / per_word)] |= static_cast<std::uint32_t>(source)
                                                          << (16 * (lane % per_word));
    }
    Vec order = v_.vec("order of elements");
    v_.load_raw(order, a_.ptr[a_.rip + a_.constant(words)]);
    return order;
  }

  void permute(const Vec& to, const Vec& order, const std::vector<Vec>& from) {
    if (from.size() == 1) {
      size_ == 2 ? a_.vpermw(zmm(to), zmm(order), zmm(from[0]))
                 : a_.vpermps(zmm(to), zmm(order), zmm(from[0]));
      return;
    }
    a_.vmovaps(zmm(to), zmm(order));
    size_ == 2 ? a_.vpermi2w(zmm(to), zmm(from[0]), zmm(from[1]))
               : a_.vpermi2ps(zmm(to), zmm(from[0]), zmm(from[1]));
  }

  Assembler& a_;
  Avx512& v_;
  int size_;
  int lanes_;
  RunShape shape_;
  std::vector<Opmask> load_masks_;
  std::vector<Opmask> store_masks_;
  std::vector<Vec> orders_;
};

}  // namespace

std::unique_ptr<RunUnits> Avx512::run_units(int size, const RunShape& shape) {
  return std::make_unique<Avx512RunUnits>(*this, size, shape);
}

}  // namespace gradjit::jit
