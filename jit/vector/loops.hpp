#pragma once

#include <functional>
#include <optional>

#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

/// Loops over `inner` adjacent elements. Its registers, and those of its tail, are held for as long as code
/// that a body has put off (`Assembler::later`) may be entered.
class ElementLoop {
 public:
  /// Reads the number of elements from KernelArgs. With `aligned`, the first group of `emit` is a partial
  /// vector up to where that pointer is aligned, so that all whole vectors are.
  ElementLoop(Assembler& a, Elements& elements, std::optional<Xbyak::Reg64> aligned = std::nullopt);

  /// The offset, in bytes, of a group's first element.
  [[nodiscard]] Xbyak::Reg64 offset() const { return Assembler::r64(offset_); }
  /// The bytes of all elements.
  [[nodiscard]] Xbyak::Reg64 bytes() const { return Assembler::r64(bytes_); }

  /// Emits groups of `unroll` vectors, then single vectors, then what is left, as a partial vector.
  /// `group(vectors, tail)` emits one group.
  void emit(int unroll, const std::function<void(int vectors, const Tail& tail)>& group) const;

  /// Emits vectors one by one, from the first element on in any case. `does` and `operands` describe the
  /// loop: what it does, with how many vectors each time.
  void emit_singly(const char* does, int operands, const std::function<void(const Tail& tail)>& body) const;

 private:
  void partial_vector(const std::function<void(int, const Tail&)>& group) const;
  void set_tail() const;
  void up_to_alignment(const std::function<void(int, const Tail&)>& group) const;
  void whole_groups(int vectors, const std::function<void(int, const Tail&)>& group) const;

  Assembler& a_;
  Elements& elements_;
  std::optional<Xbyak::Reg64> aligned_;
  General offset_;
  General bytes_;
  General end_;  ///< The last offset at which a group is whole.
  General tail_count_;
  Tail tail_;
  Tail whole_;
};

/// Sets `count` to the number of elements between `pointer`, which is aligned to one, and the next place that
/// is aligned to a vector of them.
void count_to_alignment(Assembler& a, const General& count, const Xbyak::Reg64& pointer,
                        const Elements& elements);

/// Emits a loop: while `offset` plus `bytes` is at most `end`, `body`, after which `offset` grows by `bytes`.
/// `last` is a register to use.
void repeat_up_to(Assembler& a, const Xbyak::RegExp& end, const Xbyak::Reg64& offset, int bytes,
                  const General& last, const std::function<void()>& body);

/// Emits whole vectors up to `end`, in bytes, in groups: of `unroll`, then of 2, then one by one.
/// `group(vectors)` emits one at `offset`, which grows. `last` is a register to use.
void repeat_in_groups(Assembler& a, const Elements& elements, const Xbyak::Reg64& end,
                      const Xbyak::Reg64& offset, const General& last, int unroll,
                      const std::function<void(int vectors)>& group);

/// Emits `body` as the body of a loop that runs `count` times (a register, counted down to zero). Skipped
/// if count is zero or less.
void repeat(Assembler& a, const General& count, const std::function<void()>& body);

/// Copies `count` elements from `from` to where `to` points: rounded results, which stay what they are. Both
/// registers are lost.
void copy_elements(VectorUnit& v, Elements& elements, const General& to, const Xbyak::RegExp& from,
                   const General& count);

/// Copies `bytes` bytes, an even number, from `from` to where `to` points.
void copy_adjacent(VectorUnit& v, const General& to, const Xbyak::RegExp& from, const General& bytes);

}  // namespace gradjit::jit
