#include "src/execute/kernel_state.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include "src/cache/compile.hpp"
#include "src/execute/grid.hpp"
#include "src/execute/run_blocks.hpp"
#include "src/execute/scratch.hpp"
#include "src/plan/tile_layout.hpp"

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

/// Takes the kernels of a plan from `get(spec)`.
template <typename Get>
void load_kernels(const Plan& plan, Kernels& kernels, Get get) {
  kernels[static_cast<std::size_t>(KernelRole::main)] = get(plan.spec);
  if (plan.spec.stage == jit::Stage::whole) {
    return;
  }
  for (const KernelRole role : {KernelRole::main_rest, KernelRole::sum, KernelRole::sum_rest}) {
    kernels[static_cast<std::size_t>(role)] = get(spec_of(plan, role));
  }
}

}  // namespace

KernelState::KernelState(const Request& request, Isa isa, const CacheSizes& caches,
                         const ExecutorRef& executor)
    : plan_(make_plan(request, isa, caches)), one_call_(one_call_of(plan_)), executor_(executor) {}

void KernelState::load(KernelCache& cache) {
  const auto get = [&](const jit::KernelSpec& spec) {
    ++requests_;
    return cache.get(spec, compile);
  };
  load_kernels(plan_, kernels_, get);
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    if (const std::optional<jit::KernelSpec> spec = copy_spec_of(plan_, tensor)) {
      auto kernel = get(*spec);
      copies_[tensor] = kernel->entry != nullptr ? std::move(kernel) : nullptr;
    }
  }
  if (plan_.stages_any()) {
    staging_.emplace(plan_, plan_.block, staged_axis_steps(plan_), copies_);
  }
}

std::uint64_t KernelState::mark_used() const noexcept {
  const auto mark = [](const auto& kernels) {
    for (const auto& kernel : kernels) {
      if (kernel) {
        kernel->used.set();
      }
    }
  };
  mark(kernels_);
  mark(copies_);
  return requests_;
}

const Kernels& KernelState::kernels_for(const Pointers& pointers, int concurrency) const {
  const jit::KernelSpec& spec = plan_.spec;
  const bool cuts_slabs = spec.is_dense && Grid::cuts_columns(plan_, concurrency);
  const auto address = reinterpret_cast<std::uintptr_t>(pointers[diff_src]);
  const bool is_misaligned = spec.streaming && !spec.in_place &&
                             address % static_cast<std::uintptr_t>(plan_.diff_src_alignment) != 0;
  if (!cuts_slabs && !is_misaligned) {
    return kernels_;
  }
  const PlainKernels& plain = cuts_slabs ? for_cut_slabs_ : for_misaligned_;
  std::call_once(plain.are_made, [&] {
    Plan plan = plan_;
    plan.spec.streaming = false;
    plan.spec.is_dense = spec.is_dense && !cuts_slabs;
    load_kernels(plan, plain.kernels, compile);
  });
  return plain.kernels;
}

void KernelState::run(const Buffers& buffers, Executor& executor) const {
  check_in_place(plan_, buffers);
  if (plan_.elements == 0) {
    return;
  }
  const Pointers pointers = checked_pointers(plan_, buffers);
  const int concurrency = plan_.bytes < parallel_threshold ? 1 : executor.concurrency();
  const Kernels& kernels = kernels_for(pointers, concurrency);
  if (plan_.is_one_call && concurrency <= 1) {
    run_one_call(kernels, pointers);
  } else if (plan_.is_segmented()) {
    run_segments({plan_, kernels, copies_, staging_, pointers}, executor, concurrency);
  } else {
    run_blocks({plan_, kernels, copies_, staging_, pointers}, executor, concurrency);
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
