#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "jit/core/assembler.hpp"
#include "jit/kernel_spec.hpp"

namespace gradjit::jit {

/// What an instruction reads: a vector register, a vector in memory, or one word in memory that the
/// instruction repeats in every lane.
class Value {
 public:
  Value(const Vec& reg) : index_(reg.index()) {}
  Value(const Xbyak::Address& vector) : address_(vector) {}
  [[nodiscard]] static Value repeated(const Xbyak::Address& word) {
    Value value(word);
    value.repeated_ = true;
    return value;
  }

  [[nodiscard]] bool in_register() const noexcept { return index_ >= 0; }
  [[nodiscard]] bool is_repeated() const noexcept { return repeated_; }
  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] const Xbyak::Address& address() const noexcept { return address_; }

 private:
  int index_ = -1;
  bool repeated_ = false;
  Xbyak::Address address_{0, false, Xbyak::RegExp()};
};

/// A number in every lane: in memory beside the code, or, once hoisted, in a register.
class Constant {
 public:
  explicit Constant(Value in_memory) : in_memory_(in_memory) {}
  operator Value() const { return reg_.held() ? Value(reg_) : in_memory_; }

 private:
  friend class VectorUnit;
  Vec reg_;
  Value in_memory_;
};

/// The lanes for which a comparison held. Only the vector unit knows what is in it.
struct Mask {
  Opmask opmask;
  Vec lanes;
};

/// How many lanes of a vector have elements in memory: all, a number known at emission, or a number in
/// a register (at least 1 and less than all). Made by `Elements::tail`, which prepares what partial loads
/// and stores of that type need.
struct Tail {
  int fixed = 0;                   ///< Known at emission; 0: it is not, or all lanes are there.
  const General* count = nullptr;  ///< The register that has the number; null: it is fixed, or all.
  Opmask opmask;
  General places;  ///< Elements that are not adjacent: a bit for each place in memory, set for theirs.

  [[nodiscard]] bool whole() const noexcept { return fixed == 0 && count == nullptr; }
};

/// Comparison predicates, by their number in the instructions. The unordered ones hold for NaN.
enum class Compare : std::uint8_t {
  not_less_equal_or_nan = 0x16,
  not_greater_equal_or_nan = 0x19,
  not_greater_or_nan = 0x1A,
  is_nan = 0x03,
};

class Elements;
class RunUnits;
class StridedUnits;
class Units;
enum class Strided : std::uint8_t;

/// What a vector instruction set offers, said once for all of them: operations are written against
/// this. A vector has `lanes()` f32 (or 32-bit integers), or half as many f64.
class VectorUnit {
 public:
  /// For avx2, avx512 or avx512_bf16.
  static std::unique_ptr<VectorUnit> make(Isa isa, Assembler& assembler);
  virtual ~VectorUnit() = default;

  [[nodiscard]] int lanes() const noexcept { return lanes_; }
  [[nodiscard]] int free_registers() const noexcept { return a_.vector_pool().free(); }
  /// How many vector registers a mask takes.
  [[nodiscard]] virtual int registers_per_mask() const = 0;
  [[nodiscard]] Vec vec(const char* holds) { return {a_.vector_pool(), holds}; }
  [[nodiscard]] Assembler& assembler() noexcept { return a_; }
  [[nodiscard]] virtual std::unique_ptr<Elements> elements(DataType dtype) = 0;
  /// For elements of `size` bytes that are only copied.
  [[nodiscard]] virtual std::unique_ptr<Units> units(int size) = 0;
  [[nodiscard]] virtual std::unique_ptr<StridedUnits> strided_units(int size, int step, Strided what) = 0;
  /// For what `runs_at_once` has; throws `Error` (internal) where it has nothing on this instruction set.
  [[nodiscard]] virtual std::unique_ptr<RunUnits> run_units(int size, const RunShape& shape);

  // Constants.
  [[nodiscard]] Constant constant(float value);
  [[nodiscard]] virtual Constant constant_bits(std::uint32_t bits) = 0;
  /// One word per lane; `words` is repeated to fill them.
  [[nodiscard]] Constant constant_lanes(std::span<const std::uint32_t> words);
  /// Loads constants into registers, in this order, while more than `reserve` stay free.
  void hoist(std::span<Constant* const> constants, int reserve);

  // Moves.
  virtual void move(const Vec& to, const Value& from) = 0;
  void zero(const Vec& to);
  /// Every lane of `to` becomes the f32 at `from`.
  void broadcast(const Vec& to, const Xbyak::Address& from);
  /// A whole vector, as it is; any alignment.
  void load_raw(const Vec& to, const Xbyak::Address& from);
  void store_raw(const Xbyak::Address& to, const Vec& from);

  // f32 arithmetic.
  void add(const Vec& to, const Vec& a, const Value& b);
  void sub(const Vec& to, const Vec& a, const Value& b);
  void mul(const Vec& to, const Vec& a, const Value& b);
  /// x = x * a + b
  void multiply_add(const Vec& x, const Vec& a, const Value& b);
  /// sum = sum + a * b
  void add_product(const Vec& sum, const Vec& a, const Value& b);
  /// x = b - x * a
  void negated_multiply_add(const Vec& x, const Vec& a, const Value& b);
  /// Whether there is an instruction for `scale`. (EluBackward from src in f32 became 4 % faster with it.)
  [[nodiscard]] virtual bool scales_by_numbers() const = 0;
  /// x = x * 2^floor(exponent), where `scales_by_numbers`.
  void scale(const Vec& x, const Vec& exponent);
  /// The greater, the smaller; b where either is NaN.
  void max(const Vec& to, const Vec& a, const Value& b);
  void min(const Vec& to, const Vec& a, const Value& b);

  /// greatest = the greater of it, which is no less than 0, and |x|. A NaN is either kept or passed over, a
  /// signaling one must not be there. `magnitude_bits` is what is not the sign. `scratch` is lost, and may be
  /// x.
  virtual void max_magnitude(const Vec& greatest, const Vec& x, const Value& magnitude_bits,
                             const Vec& scratch) = 0;

  // 32-bit integers and bits.
  void add_i32(const Vec& to, const Vec& a, const Value& b);
  void sub_i32(const Vec& to, const Vec& a, const Value& b);
  void max_i32(const Vec& to, const Vec& a, const Value& b);
  void max_u32(const Vec& to, const Vec& a, const Value& b);
  void shift_left(const Vec& to, const Vec& a, int bits);
  void shift_right_signed(const Vec& to, const Vec& a, int bits);
  void shift_right(const Vec& to, const Vec& a, int bits);
  virtual void bit_and(const Vec& to, const Vec& a, const Value& b) = 0;

  // Lanes.
  /// Each lane becomes entry (index's low 2 bits) of a table that repeats every four lanes.
  void look_up_4(const Vec& to, const Value& table, const Vec& index);
  /// Each lane becomes lane `index` of `from` (index modulo the number of lanes).
  void permute(const Vec& to, const Value& from, const Vec& index);
  /// Adds, of each of a and b, the upper `distance` lanes of every block of 2 * distance lanes to the
  /// lower (a power of two); the result, in a, holds those of both. b is lost.
  void fold_pair(const Vec& a, const Vec& b, int distance);
  /// Where the lanes of `fold_pair`'s result come from.
  struct Origin {
    bool from_b;
    int lane;  ///< The lower of the two that were added.
  };
  [[nodiscard]] std::vector<Origin> fold_origin(int distance) const;

  // f64, for sums: accumulators hold 16 f64 lanes in `accumulator_parts()` registers.
  [[nodiscard]] int accumulator_parts() const noexcept { return 32 / lanes_; }
  /// Adds the lanes() f32 lanes of `from` to as many f64 lanes: first in parts[0], then in parts[1].
  void add_widened(std::span<const Vec> parts, const Vec& from);
  /// The same for lanes() f64 in memory.
  void add_widened(const Xbyak::RegExp& parts, const Vec& from);
  /// The lower or the upper half of the f32 lanes as f64.
  virtual void widen(const Vec& to, const Vec& from, bool upper) = 0;
  void add_f64(const Vec& to, const Vec& a, const Value& b);
  /// Folds the 16 f64 lanes by distances 8, 4, 2, 1, into lane 0 of parts[0].
  virtual void fold_f64(std::span<const Vec> parts) = 0;
  /// The first lane, an f64, to memory.
  void store_scalar_f64(const Xbyak::Address& to, const Vec& from);
  /// Every f32 lane of `to` becomes lane 0 (an f64) of `from`, rounded.
  void broadcast_narrowed(const Vec& to, const Vec& from);
  /// lanes() f64 from two vectors to lanes() f32.
  virtual void narrow(const Vec& to, const Vec& low, const Vec& high) = 0;

  // Comparisons.
  [[nodiscard]] virtual Mask compare(const Vec& a, Compare predicate, const Value& b) = 0;
  /// Where the mask is set, to = a * b.
  virtual void multiply_where(const Mask& mask, const Vec& to, const Vec& a, const Value& b) = 0;
  /// Where the mask is set, to = from.
  virtual void move_where(const Mask& mask, const Vec& to, const Vec& from) = 0;
  /// Jumps if the mask is set for any lane.
  virtual void jump_if_any(const Mask& mask, const Xbyak::Label& target) = 0;
  /// `word` as an operand that the instruction repeats, where the instruction set has that.
  [[nodiscard]] static Xbyak::Address broadcast_operand(const Xbyak::Address& word);

 protected:
  VectorUnit(Assembler& assembler, int lanes) : a_(assembler), lanes_(lanes) {}

  [[nodiscard]] Xbyak::Xmm reg(int index) const;
  [[nodiscard]] Xbyak::Xmm reg(const Vec& vec) const { return reg(vec.index()); }
  [[nodiscard]] static Xbyak::Xmm xmm(const Vec& vec) { return Xbyak::Xmm(vec.index()); }
  [[nodiscard]] static Xbyak::Ymm ymm(const Vec& vec) { return Xbyak::Ymm(vec.index()); }
  [[nodiscard]] static Xbyak::Zmm zmm(const Vec& vec) { return Xbyak::Zmm(vec.index()); }

  /// Calls `emit` with what `value` is to Xbyak: a register or an address.
  template <typename Emit>
  void with(const Value& value, Emit emit) {
    if (value.in_register()) {
      emit(reg(value.index()));
    } else if (value.is_repeated()) {
      emit(broadcast_operand(value.address()));
    } else {
      emit(value.address());
    }
  }
  /// Puts 128-bit lanes of a and b together for `fold_pair` at 4 lanes and more: the upper or the
  /// lower parts of what is to be added.
  virtual void shuffle_quads(const Vec& to, const Vec& a, const Vec& b, int distance, bool upper) = 0;
  /// The order in which `shuffle_quads` puts a's and b's 128-bit lanes.
  [[nodiscard]] virtual std::vector<Origin> quad_origin(int distance) const = 0;

  Assembler& a_;

 private:
  int lanes_;
};

/// Calls `pair(i)` for i = 0, 2, … while there are two whole vectors, else `single(i)`.
template <typename Pair, typename Single>
void for_pairs(std::size_t vectors, const Tail& tail, Pair pair, Single single) {
  std::size_t i = 0;
  for (; tail.whole() && i + 1 < vectors; i += 2) {
    pair(i);
  }
  for (; i < vectors; ++i) {
    single(i);
  }
}

/// Loads and stores elements of one type as f32 lanes.
class Elements {
 public:
  virtual ~Elements() = default;

  /// The size of an element in bytes.
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] int lanes() const noexcept { return v_.lanes(); }
  [[nodiscard]] int vector_bytes() const noexcept { return size_ * v_.lanes(); }
  /// How many vector registers a load or a store may take for itself.
  [[nodiscard]] virtual int scratch_registers() const = 0;

  /// `count` elements, known at emission: 1 to lanes().
  [[nodiscard]] virtual Tail tail(int count) {
    Tail tail;
    tail.fixed = count == v_.lanes() ? 0 : count;
    return tail;
  }
  /// As many elements as `count` says, which must outlive the tail: 1 to lanes() - 1.
  [[nodiscard]] virtual Tail tail(const General& count) {
    Tail tail;
    tail.count = &count;
    return tail;
  }
  /// Adapts such a tail to what its register says now.
  virtual void refresh(const Tail& /*tail*/) {}

  /// Lanes without an element become zero; nothing outside the elements is read.
  virtual void load(const Vec& to, const Xbyak::RegExp& from, const Tail& tail) = 0;
  /// Rounds to the type, nearest, ties to even. Nothing outside the elements is written. `from` is lost.
  virtual void store(const Xbyak::RegExp& to, const Vec& from, const Tail& tail) = 0;
  /// The same for a whole vector, past the caches. `to` is aligned to vector_bytes().
  virtual void stream(const Xbyak::RegExp& to, const Vec& from) = 0;
  /// The same in pieces of `piece_bytes`; `to` is aligned to that, and a tail is whole pieces.
  void stream_in_pieces(const Xbyak::RegExp& to, const Vec& from, const Tail& tail);
  /// Two whole vectors of adjacent elements at once. Which lane of which vector has which element is left to
  /// the type, but always the same: for what is done to each element by itself.
  virtual void load_pair(const Vec& a, const Vec& b, const Xbyak::RegExp& from) {
    load(a, from, Tail{});
    load(b, from + vector_bytes(), Tail{});
  }
  /// What came by `load_pair`. Both are lost.
  virtual void store_pair(const Xbyak::RegExp& to, const Vec& a, const Vec& b) {
    store(to, a, Tail{});
    store(to + vector_bytes(), b, Tail{});
  }
  /// Past the caches; `to` is aligned to vector_bytes().
  virtual void stream_pair(const Xbyak::RegExp& to, const Vec& a, const Vec& b) {
    stream(to, a);
    stream(to + vector_bytes(), b);
  }
  /// Whether pairs take less than two vectors. (bf16, whose even and odd elements are two halves of words:
  /// EluBackward became 12 % faster from src, 25 % to 30 % from dst.)
  [[nodiscard]] virtual bool pairs_are_cheaper() const { return false; }

  /// Adjacent vectors from `from` on, in pairs while there are two and they are whole.
  void load_group(std::span<const Vec* const> vectors, const Xbyak::RegExp& from, const Tail& tail);

  /// The same in a register: elements as they are in memory, side by side from its start, to f32 lanes and
  /// back.
  virtual void widen(const Vec& elements) = 0;
  virtual void narrow(const Vec& lanes) = 0;
  /// The elements as an operand: memory where that can be, else loaded into `scratch`.
  [[nodiscard]] virtual Value read(const Vec& scratch, const Xbyak::RegExp& from, const Tail& tail) {
    load(scratch, from, tail);
    return scratch;
  }

 protected:
  Elements(VectorUnit& v, int size) : v_(v), size_(size) {}

  /// Puts the next piece of a register in the place of the first.
  virtual void next_piece(const Vec& pieces) = 0;

  VectorUnit& v_;

 private:
  int size_;
};

}  // namespace gradjit::jit
