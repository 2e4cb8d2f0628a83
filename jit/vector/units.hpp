#pragma once

#include <cstdint>
#include <memory>

#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

/// Moves elements of 2 or 4 bytes in memory as they are. Vectors are whole ones.
class Units {
 public:
  virtual ~Units() = default;

  /// The size of an element in bytes.
  [[nodiscard]] int size() const noexcept { return size_; }

  // Squares: a vector is so many quads of 16 bytes each.
  [[nodiscard]] int quads() const noexcept { return v_.lanes() / 4; }
  [[nodiscard]] int per_quad() const noexcept { return 16 / size_; }
  /// Loads one quad of `to`. Quad 0 comes first: it clears the others.
  virtual void load_quad(const Vec& to, int quad, const Xbyak::RegExp& from) = 0;
  virtual void store_quad(const Xbyak::RegExp& to, const Vec& from, int quad) = 0;
  /// The first quads: 1, 2 or 4 of them.
  void load_quads(const Vec& to, const Xbyak::RegExp& from, int quads);
  void store_quads(const Xbyak::RegExp& to, const Vec& from, int quads);
  /// Each quad of `to` becomes the elements of the lower (or upper) halves of the quads of a and b in turn.
  virtual void interleave(const Vec& to, const Vec& a, const Vec& b, bool upper) = 0;

 protected:
  Units(VectorUnit& v, int size) : v_(v), size_(size) {}

  VectorUnit& v_;

 private:
  int size_;
};

/// Moves elements of 2 or 4 bytes between a vector, where they are adjacent, and places `step` elements
/// apart, `count()` at a time. Nothing outside of the elements is written, and nothing before the first or
/// after the last is read.
///
/// A partial vector has a tail of less than `count()` elements, for which the step is 4 at most. The places
/// of the others become zero.
class StridedUnits {
 public:
  virtual ~StridedUnits() = default;

  [[nodiscard]] int count() const noexcept { return count_; }

  virtual void load_adjacent(const Vec& to, const Xbyak::RegExp& from) = 0;
  virtual void store_adjacent(const Xbyak::RegExp& to, const Vec& from) = 0;
  virtual void load_strided(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) = 0;
  virtual void store_strided(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) = 0;
  /// The same as those of `Elements`.
  [[nodiscard]] virtual Tail tail(const General& count) {
    Tail tail;
    tail.count = &count;
    return tail;
  }
  virtual void refresh(const Tail& /*tail*/) {}

 protected:
  explicit StridedUnits(int count) : count_(count) {}

 private:
  int count_;
};

/// Whether elements are read from, or written to, places `step` elements apart.
enum class Strided : std::uint8_t { load, store, both };

/// Moves short runs of elements of 2 or 4 bytes as their shape says, `count()` runs at a time. Nothing
/// outside of the elements is read or written.
class RunUnits {
 public:
  virtual ~RunUnits() = default;

  [[nodiscard]] int count() const noexcept { return count_; }
  virtual void move_runs(const Xbyak::RegExp& to, const Xbyak::RegExp& from) = 0;

 protected:
  explicit RunUnits(int count) : count_(count) {}

 private:
  int count_;
};

}  // namespace gradjit::jit
