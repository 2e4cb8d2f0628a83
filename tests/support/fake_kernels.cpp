#include "tests/support/fake_kernels.hpp"

#include <memory>
#include <vector>

namespace gradjit::test {

jit::KernelSpec spec_of(std::uint32_t id) {
  jit::KernelSpec spec;
  spec.isa = Isa::avx2;
  spec.alpha_bits = id;
  return spec;
}

detail::KernelCache::Kernel make_kernel(const jit::KernelSpec& spec) {
  const std::vector<std::uint8_t> code(100 + spec.alpha_bits % 10, 0xc3);
  return std::make_shared<const detail::CompiledKernel>(
      detail::CompiledKernel{spec, "fake", detail::store_code(code), nullptr});
}

}  // namespace gradjit::test
