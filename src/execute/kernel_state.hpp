#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include <gradjit/executor.hpp>

#include "src/cache/kernel_cache.hpp"
#include "src/execute/block_call.hpp"
#include "src/execute/buffers.hpp"
#include "src/plan/plan.hpp"

namespace gradjit::detail {

/// What a `Kernel` is a handle to: a plan and its kernels. Once it is loaded, any thread may run it.
class KernelState {
 public:
  /// `executor` is what `run` uses by default.
  KernelState(const Request& request, Isa isa, const CacheSizes& caches, const ExecutorRef& executor);

  /// Takes the kernels from `cache`. Throws `Error`.
  void load(KernelCache& cache);
  /// Marks the kernels as asked for, which `load` does too. Returns how many `load` asked for.
  std::uint64_t mark_used() const noexcept;

  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const CompiledKernel& main_kernel() const noexcept { return *kernels_[0]; }

  /// Does the work, on the executor that it was made with or on another. Throws `Error`.
  void run(const Buffers& buffers) const { run(buffers, *executor_.get()); }
  void run(const Buffers& buffers, Executor& executor) const;

 private:
  /// Kernels that don't stream, made when they are first needed.
  struct PlainKernels {
    mutable std::once_flag are_made;
    mutable Kernels kernels;
  };

  [[nodiscard]] const Kernels& kernels_for(const Pointers& pointers, int concurrency) const;
  void run_one_call(const Kernels& kernels, const Pointers& pointers) const;

  Plan plan_;
  jit::KernelArgs one_call_;  ///< All but the pointers, for a plan that is one call.
  Kernels kernels_;
  PlainKernels for_misaligned_;  ///< Where diff_src is not aligned as `kernels_` need it.
  PlainKernels for_cut_slabs_;   ///< Where threads take parts of slabs that `kernels_` take as one run.
  CopyKernels copies_;
  std::optional<Staging> staging_;  ///< Of the plan's whole blocks, if any tensor is staged.
  std::uint64_t requests_ = 0;      ///< To the cache.
  ExecutorRef executor_;
};

}  // namespace gradjit::detail
