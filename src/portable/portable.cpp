#include "src/portable/portable.hpp"

namespace gradjit::detail::portable {

// kernels.cpp, compiled for baseline x86-64 (std::fma in software) and with FMA instructions.
namespace baseline {
void run(const jit::KernelSpec& spec, const jit::KernelArgs& args);
}
namespace with_fma {
void run(const jit::KernelSpec& spec, const jit::KernelArgs& args);
}

void run(const jit::KernelSpec& spec, const jit::KernelArgs& args) {
  static const bool has_fma = __builtin_cpu_supports("fma") != 0;
  if (has_fma) {
    with_fma::run(spec, args);
  } else {
    baseline::run(spec, args);
  }
}

}  // namespace gradjit::detail::portable
