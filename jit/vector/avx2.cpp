#include "jit/vector/avx2.hpp"

#include <array>

namespace gradjit::jit {

void Avx2::move(const Vec& to, const Value& from) {
  with(from, [&](const auto& operand) { a_.vmovups(ymm(to), operand); });
}

Constant Avx2::constant_bits(std::uint32_t bits) { return constant_lanes(std::array{bits}); }

void Avx2::bit_and(const Vec& to, const Vec& a, const Value& b) {
  with(b, [&](const auto& operand) { a_.vpand(ymm(to), ymm(a), operand); });
}

void Avx2::max_magnitude(const Vec& greatest, const Vec& x, const Value& magnitude_bits, const Vec& scratch) {
  // As integers, magnitudes order like the numbers, with NaN above all.
  bit_and(scratch, x, magnitude_bits);
  max_u32(greatest, greatest, scratch);
}

void Avx2::shuffle_quads(const Vec& to, const Vec& a, const Vec& b, int /*distance*/, bool upper) {
  a_.vperm2f128(ymm(to), ymm(a), ymm(b), upper ? 0x31 : 0x20);
}

std::vector<VectorUnit::Origin> Avx2::quad_origin(int /*distance*/) const { return {{false, 0}, {true, 0}}; }

void Avx2::widen(const Vec& to, const Vec& from, bool upper) {
  if (upper) {
    a_.vextractf128(xmm(to), ymm(from), 1);
  }
  a_.vcvtps2pd(ymm(to), xmm(upper ? to : from));
}

void Avx2::fold_f64(std::span<const Vec> parts) {
  const Vec& sum = parts[0];
  const Vec& upper = parts[1];
  a_.vaddpd(ymm(sum), ymm(sum), ymm(parts[2]));
  a_.vaddpd(ymm(upper), ymm(upper), ymm(parts[3]));
  a_.vaddpd(ymm(sum), ymm(sum), ymm(upper));
  a_.vextractf128(xmm(upper), ymm(sum), 1);
  a_.vaddpd(xmm(sum), xmm(sum), xmm(upper));
  a_.vpermilpd(xmm(upper), xmm(sum), 1);
  a_.vaddsd(xmm(sum), xmm(sum), xmm(upper));
}

void Avx2::narrow(const Vec& to, const Vec& low, const Vec& high) {
  a_.vcvtpd2ps(xmm(high), ymm(high));
  a_.vcvtpd2ps(xmm(to), ymm(low));
  a_.vinsertf128(ymm(to), ymm(to), xmm(high), 1);
}

Mask Avx2::compare(const Vec& a, Compare predicate, const Value& b) {
  Mask mask;
  mask.lanes = vec("mask");
  with(b, [&](const auto& operand) {
    a_.vcmpps(ymm(mask.lanes), ymm(a), operand, static_cast<std::uint8_t>(predicate));
  });
  return mask;
}

void Avx2::multiply_where(const Mask& mask, const Vec& to, const Vec& a, const Value& b) {
  const Vec product = vec("product");
  mul(product, a, b);
  move_where(mask, to, product);
}

void Avx2::move_where(const Mask& mask, const Vec& to, const Vec& from) {
  a_.vblendvps(ymm(to), ymm(to), ymm(from), ymm(mask.lanes));
}

void Avx2::jump_if_any(const Mask& mask, const Xbyak::Label& target) {
  const General bits = a_.general("mask bits");
  a_.vmovmskps(Assembler::r32(bits), ymm(mask.lanes));
  a_.test(Assembler::r32(bits), Assembler::r32(bits));
  a_.jnz(target, Xbyak::CodeGenerator::T_NEAR);
}

}  // namespace gradjit::jit
