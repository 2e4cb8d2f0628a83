#pragma once

#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

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
  /// Keeps the pointers in 24 bytes of the stack from rsp + `at` on, or takes them from there.
  void save(int at);
  void restore(int at);

 private:
  Assembler& a_;
  General activation_;
  General diff_dst_;
  General diff_src_;
};

}  // namespace gradjit::jit
