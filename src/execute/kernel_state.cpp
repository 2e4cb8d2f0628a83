#include "src/execute/kernel_state.hpp"

#include <cstdint>

#include "src/cache/compile.hpp"
#include "src/execute/run_blocks.hpp"
#include "src/execute/scratch.hpp"

namespace gradjit::detail {
namespace {

/// All positions at once, if that is how the plan is carried out.
jit::KernelArgs one_call_of(const Plan& plan) {
  if (!plan.is_one_call) {
    return {};
  }
  Block block;
  for (std::size_t i = 0; i < plan.loops().size(); ++i) {
    block.steps[i] = plan.loops()[i].size;
  }
  return direct_args(plan, block, plan.axis.size);
}

}  // namespace

KernelState::KernelState(const Request& request, Isa isa, const CacheSizes& caches,
                         const ExecutorRef& executor)
    : plan_(make_plan(request, isa, caches)), one_call_(one_call_of(plan_)), executor_(executor) {}

void KernelState::load(KernelCache& cache) {
  load(cache, plan_.spec.streaming, kernels_);
  if (plan_.spec.streaming) {
    load(cache, false, plain_kernels_);
  }
}

void KernelState::load(KernelCache& cache, bool streaming, Kernels& kernels) const {
  const auto get = [&](KernelRole role) {
    jit::KernelSpec spec = spec_of(plan_, role);
    spec.streaming = streaming;
    kernels[static_cast<std::size_t>(role)] = cache.get(spec, compile);
  };
  get(KernelRole::main);
  if (plan_.is_segmented()) {
    get(KernelRole::main_rest);
    get(KernelRole::sum);
    get(KernelRole::sum_rest);
  }
}

const Kernels& KernelState::kernels_for(const Pointers& pointers) const {
  // Packed rows are whole vectors from the first on, others begin with a partial one.
  const std::int64_t alignment = plan_.spec.loop == jit::Loop::packed_rows ? 64 : plan_.element_size;
  const auto address = reinterpret_cast<std::uintptr_t>(pointers[diff_src]);
  const bool is_aligned = address % static_cast<std::uintptr_t>(alignment) == 0;
  return plan_.spec.streaming && !is_aligned ? plain_kernels_ : kernels_;
}

void KernelState::run(const Buffers& buffers, Executor& executor) const {
  check_in_place(plan_, buffers);
  if (plan_.elements == 0) {
    return;
  }
  const Pointers pointers = checked_pointers(plan_, buffers);
  const int concurrency = plan_.bytes < parallel_threshold ? 1 : executor.concurrency();
  const Kernels& kernels = kernels_for(pointers);
  if (plan_.is_one_call && concurrency <= 1) {
    run_one_call(kernels, pointers);
  } else if (plan_.is_segmented()) {
    run_segments({plan_, kernels, pointers}, executor, concurrency);
  } else {
    run_blocks({plan_, kernels, pointers}, executor, concurrency);
  }
}

void KernelState::run_one_call(const Kernels& kernels, const Pointers& pointers) const {
  jit::KernelArgs args = one_call_;
  args.activation = pointers[activation];
  args.diff_dst = pointers[diff_dst];
  args.diff_src = pointers[diff_src];
  if (plan_.spec.loop == jit::Loop::columns) {
    args.scratch = thread_scratch(jit::columns_scratch_bytes(args.inner));
  }
  (*kernels[0])(args);
}

}  // namespace gradjit::detail
