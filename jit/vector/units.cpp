#include "jit/vector/units.hpp"

namespace gradjit::jit {

namespace {

/// The part of a vector register that its first quads are.
Xbyak::Xmm part_of(const Vec& vec, int quads) {
  const auto kind = quads == 1 ? Xbyak::Operand::XMM : quads == 2 ? Xbyak::Operand::YMM : Xbyak::Operand::ZMM;
  return {kind, vec.index()};
}

}  // namespace

void Units::load_quads(const Vec& to, const Xbyak::RegExp& from, int quads) {
  Assembler& a = v_.assembler();
  a.vmovups(part_of(to, quads), a.ptr[from]);
}

void Units::store_quads(const Xbyak::RegExp& to, const Vec& from, int quads) {
  Assembler& a = v_.assembler();
  a.vmovups(a.ptr[to], part_of(from, quads));
}

}  // namespace gradjit::jit
