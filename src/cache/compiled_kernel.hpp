#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "jit/kernel_spec.hpp"
#include "src/code_memory/code_memory.hpp"
#include "src/portable/portable.hpp"

namespace gradjit::detail {

/// Whether a kernel was asked for since the cache last looked. A copy starts afresh.
class UseMark {
 public:
  UseMark() = default;
  UseMark(const UseMark& /*other*/) noexcept {}
  UseMark& operator=(const UseMark& other) = delete;
  ~UseMark() = default;

  void set() const noexcept {
    // Storing only what changes keeps the cache line shared between the threads that use the kernel.
    if (!set_.load(std::memory_order_relaxed)) {
      set_.store(true, std::memory_order_relaxed);
    }
  }
  /// Returns it, and takes it away.
  [[nodiscard]] bool take() const noexcept { return set_.exchange(false, std::memory_order_relaxed); }

 private:
  mutable std::atomic<bool> set_{false};
};

/// A kernel that is ready to be called: generated code or, when `entry` is null, portable code.
struct CompiledKernel {
  jit::KernelSpec spec;
  std::string name;
  std::shared_ptr<const CodeBlock> code;  ///< Null on the portable path.
  jit::KernelEntry entry = nullptr;
  UseMark used = {};

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
