#include "src/execute/kernel_state.hpp"

#include <cstring>

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
  kernels_[0] = cache.get(plan_.spec, compile);
  if (!plan_.is_segmented()) {
    return;
  }
  for (const KernelRole role : {KernelRole::main_rest, KernelRole::sum, KernelRole::sum_rest}) {
    kernels_[static_cast<std::size_t>(role)] = cache.get(spec_of(plan_, role), compile);
  }
}

void KernelState::run(const Buffers& buffers, Executor& executor) const {
  check_in_place(plan_, buffers);
  if (plan_.elements == 0) {
    return;
  }
  const Pointers pointers = checked_pointers(plan_, buffers);
  const int concurrency = plan_.bytes < parallel_threshold ? 1 : executor.concurrency();
  if (plan_.is_one_call && concurrency <= 1) {
    run_one_call(pointers);
  } else if (plan_.is_segmented()) {
    run_segments({plan_, kernels_, pointers}, executor, concurrency);
  } else {
    run_blocks({plan_, kernels_, pointers}, executor, concurrency);
  }
}

void KernelState::run_one_call(const Pointers& pointers) const {
  jit::KernelArgs args = one_call_;
  args.activation = pointers[activation];
  args.diff_dst = pointers[diff_dst];
  args.diff_src = pointers[diff_src];
  if (plan_.spec.loop == jit::Loop::columns) {
    args.scratch = thread_scratch(jit::columns_scratch_bytes(args.inner));
  }
  main_kernel()(args);
}

}  // namespace gradjit::detail
