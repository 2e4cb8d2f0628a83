#include "src/plan/plan.hpp"

#include <algorithm>
#include <limits>

#include "src/cpu/probe.hpp"
#include "src/plan/arrange.hpp"
#include "src/plan/layout.hpp"

namespace gradjit::detail {
namespace {

/// What a run reads and writes, or as much of it as 64 bits can tell.
std::int64_t bytes_of(const Plan& plan) {
  constexpr std::int64_t count = tensor_count;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / count;
  return std::min(plan.elements * plan.element_size, most) * count;
}

/// Sets the axis and, from all other dims, the loops.
void set_loops(Plan& plan, const Request& request) {
  const bool has_axis = request.operation == jit::Operation::log_softmax_backward;
  for (std::size_t i = 0; i < request.dims.size(); ++i) {
    const Dim& dim = request.dims[i];
    if (has_axis && i == request.axis) {
      plan.axis.size = dim.size;
      // The stride of a single step may be anything, and its bytes more than 64 bits tell.
      for (std::size_t tensor = 0; dim.size > 1 && tensor < tensor_count; ++tensor) {
        plan.axis.stride[tensor] = dim.stride[tensor] * plan.element_size;
      }
    } else {
      add_loop(plan.layout, dim, plan.element_size);
    }
  }
  order_and_merge(plan.loops());
}

/// The kernel, from the logical shape and nothing else: strides must not change the order of a sum.
void choose_kernel(Plan& plan, const Request& request) {
  if (request.operation == jit::Operation::elu_backward) {
    return;
  }
  std::int64_t inner = 1;
  for (std::size_t i = request.axis + 1; i < request.dims.size(); ++i) {
    inner *= request.dims[i].size;
  }
  const std::int64_t length = plan.axis.size;
  jit::KernelSpec& spec = plan.spec;
  if (length == 1 || (inner == 1 && length <= jit::packed_rows_limit)) {
    spec.loop = jit::Loop::packed_rows;
    spec.axis_rest = static_cast<std::uint32_t>(length);
    return;
  }
  spec.loop = inner == 1 ? jit::Loop::rows : jit::Loop::columns;
  if (length > jit::segment_length) {
    spec.stage = jit::Stage::update;
  } else {
    const std::int64_t modulus = inner == 1 ? jit::rows_chunk : jit::columns_group;
    spec.axis_rest = static_cast<std::uint32_t>(length % modulus);
  }
}

/// What a tensor spans and whether it lies as diff_src does, from the loops and the axis.
void measure(Plan& plan) {
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    ByteRange range{plan.layout.offset[tensor], plan.layout.offset[tensor] + plan.element_size};
    bool is_alike = plan.layout.offset[tensor] == plan.layout.offset[diff_src];
    const auto extend = [&](const Dim& dim) {
      const std::int64_t length = dim.stride[tensor] * (dim.size - 1);
      (length < 0 ? range.begin : range.end) += length;
      is_alike = is_alike && (dim.size == 1 || dim.stride[tensor] == dim.stride[diff_src]);
    };
    std::for_each(plan.loops().begin(), plan.loops().end(), extend);
    extend(plan.axis);
    plan.range[tensor] = range;
    plan.lies_like_diff_src[tensor] = is_alike;
  }
}

}  // namespace

CacheSizes cpu_cache_sizes() {
  const Caches& caches = cpu_info().caches;
  return {.l2 = static_cast<std::int64_t>(caches.l2.bytes), .l3 = static_cast<std::int64_t>(caches.l3.bytes)};
}

Plan make_plan(const Request& request, Isa isa, const CacheSizes& caches) {
  Plan plan;
  plan.spec.operation = request.operation;
  plan.spec.dtype = request.dtype;
  plan.spec.isa = isa;
  plan.spec.use_dst = request.use_dst;
  plan.spec.in_place = request.in_place;
  plan.spec.alpha_bits = request.alpha_bits;
  plan.elements = request.elements;
  plan.element_size = static_cast<std::int64_t>(size_of(request.dtype));
  if (request.elements == 0) {
    // Never called, but a kernel has a name and code.
    if (request.operation == jit::Operation::log_softmax_backward) {
      plan.spec.loop = jit::Loop::packed_rows;
      plan.spec.axis_rest = 1;
    }
    return plan;
  }
  plan.bytes = bytes_of(plan);
  set_loops(plan, request);
  choose_kernel(plan, request);
  measure(plan);
  arrange(plan, caches);
  return plan;
}

jit::KernelSpec spec_of(const Plan& plan, KernelRole role) {
  jit::KernelSpec spec = plan.spec;
  const bool is_sum = role == KernelRole::sum || role == KernelRole::sum_rest;
  if (!plan.is_segmented()) {
    return plan.is_split && is_sum ? plan.sum_spec : spec;
  }
  const bool is_rest = role == KernelRole::main_rest || role == KernelRole::sum_rest;
  if (is_sum) {
    // What a sum doesn't depend on.
    spec.stage = jit::Stage::sum;
    spec.in_place = false;
  }
  // The update of columns has no use for it.
  if (is_rest && (is_sum || spec.loop == jit::Loop::rows)) {
    const std::int64_t modulus = spec.loop == jit::Loop::rows ? jit::rows_chunk : jit::columns_group;
    spec.axis_rest = static_cast<std::uint32_t>(plan.axis.size % modulus);
  }
  return spec;
}

std::vector<jit::KernelSpec> kernel_specs_of(const Plan& plan) {
  std::vector<jit::KernelSpec> specs;
  for (const KernelRole role :
       {KernelRole::main, KernelRole::main_rest, KernelRole::sum, KernelRole::sum_rest}) {
    const jit::KernelSpec spec = spec_of(plan, role);
    if (std::find(specs.begin(), specs.end(), spec) == specs.end()) {
      specs.push_back(spec);
    }
  }
  return specs;
}

}  // namespace gradjit::detail
