#include "src/cache/compile.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>

#include <gradjit/error.hpp>

#include "src/process/environment.hpp"
#include "src/profiling/perf.hpp"

namespace gradjit::detail {
namespace {

bool is_verbose() {
  static const bool verbose = environment("GRADJIT_VERBOSE").value_or("0") != "0";
  return verbose;
}

std::shared_ptr<const CompiledKernel> portable_kernel(jit::KernelSpec spec) {
  spec.isa = Isa::portable;
  return std::make_shared<const CompiledKernel>(CompiledKernel{spec, jit::name_of(spec), nullptr, nullptr});
}

void report_denial(const Error& error) {
  static std::atomic<bool> reported{false};
  if (is_verbose() && !reported.exchange(true)) {
    std::fprintf(stderr, "gradjit: portable code is used: %s\n", error.what());
  }
}

}  // namespace

void prepare_to_compile() {
  static_cast<void>(is_verbose());
  static_cast<void>(code_memory_stats());
}

std::shared_ptr<const CompiledKernel> compile_with(Emitter emitter, const jit::KernelSpec& spec) {
  if (spec.isa == Isa::portable) {
    return portable_kernel(spec);
  }
  const auto start = std::chrono::steady_clock::now();
  auto kernel = std::make_shared<CompiledKernel>();
  kernel->spec = spec;
  kernel->name = jit::name_of(spec);
  try {
    kernel->code = store_code(emitter(spec).bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::code_memory_denied) {
      throw;
    }
    report_denial(error);
    return portable_kernel(spec);
  }
  kernel->entry = reinterpret_cast<jit::KernelEntry>(const_cast<std::uint8_t*>(kernel->code->data()));
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  record_code(kernel->name, kernel->code->bytes());
  if (is_verbose()) {
    std::fprintf(stderr, "gradjit: emitted %s, %zu bytes, %.1f us\n", kernel->name.c_str(),
                 kernel->code->size(), elapsed.count());
  }
  return kernel;
}

std::shared_ptr<const CompiledKernel> compile(const jit::KernelSpec& spec) {
  return compile_with(jit::emit, spec);
}

}  // namespace gradjit::detail
