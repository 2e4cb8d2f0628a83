#include "src/portable/portable.hpp"

namespace gradjit::detail::portable {

// kernels.cpp, compiled for baseline x86-64 (std::fma in software), with FMA instructions, and with AVX2 too,
// where the compiler makes vector code of it.
namespace baseline {
void run(const jit::KernelSpec& spec, const jit::KernelArgs& args);
}
namespace with_fma {
void run(const jit::KernelSpec& spec, const jit::KernelArgs& args);
}
namespace with_avx2 {
void run(const jit::KernelSpec& spec, const jit::KernelArgs& args);
}

void run(const jit::KernelSpec& spec, const jit::KernelArgs& args) {
  static const bool has_fma = __builtin_cpu_supports("fma") != 0;
  static const bool has_avx2 = has_fma && __builtin_cpu_supports("avx2") != 0;
  const auto chosen = has_avx2 ? with_avx2::run : has_fma ? with_fma::run : baseline::run;
  chosen(spec, args);
}

}  // namespace gradjit::detail::portable
