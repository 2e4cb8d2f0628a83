#pragma once

#include <optional>

#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

/// How far ahead streaming kernels prefetch, in bytes. (Without it, 2²⁴ elements took 1.2 to 1.5 times as
/// long; with 512, 1024, 4096 and 8192 up to 1.1, 1.3, 1.3 and 1.4 times.)
inline constexpr int prefetch_distance = 2048;

/// The registers that point at the three tensors. In place, results go where diff_dst is.
class Tensors {
 public:
  Tensors(Assembler& a, const KernelSpec& spec);

  [[nodiscard]] Xbyak::Reg64 activation() const { return Assembler::r64(activation_); }
  [[nodiscard]] Xbyak::Reg64 diff_dst() const { return Assembler::r64(diff_dst_); }
  [[nodiscard]] Xbyak::Reg64 diff_src() const {
    return diff_src_.held() ? Assembler::r64(diff_src_) : diff_dst();
  }

  /// Adds the strides that KernelArgs holds at `offset` (of outer_stride or axis_stride).
  void advance(std::size_t offset);
  /// Adds `bytes` to each.
  void advance_by(int bytes);
  /// Fetches into the caches, with a streaming kernel, what lies `prefetch_distance` beyond `bytes` bytes at
  /// `offset` of a tensor.
  void prefetch(const Xbyak::RegExp& tensor_at_offset, int bytes);
  /// Where whole vectors of results must be aligned.
  [[nodiscard]] std::optional<Xbyak::Reg64> aligned() const;
  /// Stores a vector of results, past the caches where the kernel does that and the vector is whole.
  void store(Elements& elements, const Xbyak::RegExp& to, const Vec& result, const Tail& tail) const;
  /// The same for adjacent vectors that came by `Elements::load_group`.
  void store(Elements& elements, const Xbyak::RegExp& to, std::span<const Vec* const> results,
             const Tail& tail) const;
  /// Makes results that were stored past the caches visible to other threads.
  void finish();

  /// Keeps the pointers in 24 bytes of the stack from rsp + `at` on, or takes them from there.
  void save(int at);
  void restore(int at);

 private:
  Assembler& a_;
  bool streaming_;
  bool in_pieces_;  ///< Whole vectors of results may begin inside a cache line.
  General activation_;
  General diff_dst_;
  General diff_src_;
};

}  // namespace gradjit::jit
