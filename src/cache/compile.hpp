#pragma once

#include <memory>

#include "jit/emit.hpp"
#include "src/cache/compiled_kernel.hpp"

namespace gradjit::detail {

/// Makes what `compile` makes once per process. Call it before threads compile: a child that is forked while
/// another thread makes it would wait for that thread, which it doesn't have.
void prepare_to_compile();

/// Makes the kernel that `spec` describes. Where the system grants no executable memory it is a portable
/// one, whose `spec` says so. Tells perf and, with GRADJIT_VERBOSE=1, stderr. Throws `Error`.
[[nodiscard]] std::shared_ptr<const CompiledKernel> compile(const jit::KernelSpec& spec);

/// The same with another emitter.
using Emitter = jit::EmittedKernel (*)(const jit::KernelSpec&);
[[nodiscard]] std::shared_ptr<const CompiledKernel> compile_with(Emitter emitter,
                                                                 const jit::KernelSpec& spec);

}  // namespace gradjit::detail
