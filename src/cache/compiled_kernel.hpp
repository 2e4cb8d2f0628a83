#pragma once

#include <memory>
#include <string>

#include "jit/kernel_spec.hpp"
#include "src/code_memory/code_memory.hpp"
#include "src/portable/portable.hpp"

namespace gradjit::detail {

/// A kernel that is ready to be called: generated code or, when `entry` is null, portable code.
struct CompiledKernel {
  jit::KernelSpec spec;
  std::string name;
  std::shared_ptr<const CodeBlock> code;  ///< Null on the portable path.
  jit::KernelEntry entry = nullptr;

  void operator()(const jit::KernelArgs& args) const {
    if (entry != nullptr) {
      entry(&args);
    } else {
      portable::run(spec, args);
    }
  }

  [[nodiscard]] std::size_t code_bytes() const noexcept { return code ? code->size() : 0; }
};

}  // namespace gradjit::detail
