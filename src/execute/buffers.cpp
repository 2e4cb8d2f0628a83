#include "src/execute/buffers.hpp"

#include <cstdint>

#include "src/plan/message.hpp"
#include "src/plan/overlap.hpp"

namespace gradjit::detail {
namespace {

std::string_view name_of(const Plan& plan, std::size_t tensor) {
  return tensor == activation ? activation_name(plan) : tensor == diff_dst ? "diff_dst" : "diff_src";
}

[[noreturn]] void refuse_null(const Plan& plan, std::size_t tensor) {
  refuse(name_of(plan, tensor), " is null, expected a buffer of ", plan.elements, " elements");
}

std::int64_t address(const std::byte* pointer) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

/// The bytes that the tensors span are apart, or the tensors are the same.
bool is_plainly_fine(const Plan& plan, const Pointers& pointers, std::size_t input) {
  const std::int64_t in = address(pointers[input]);
  const std::int64_t out = address(pointers[diff_src]);
  return out + plan.range[diff_src].end <= in + plan.range[input].begin ||
         in + plan.range[input].end <= out + plan.range[diff_src].begin ||
         (in == out && plan.lies_like_diff_src[input]);
}

/// Decides for tensors whose spans overlap.
void check_overlap(const Plan& plan, const Pointers& pointers, Tensor input) {
  DimList dims = plan.loops();
  for (const Dim& dim : {plan.axis, plan.columns}) {
    if (dim.size > 1) {
      dims.push_back(dim);
    }
  }
  const std::int64_t distance = (address(pointers[input]) + plan.layout.offset[input]) -
                                (address(pointers[diff_src]) + plan.layout.offset[diff_src]);
  const Overlap overlap = shares_memory(dims, diff_src, input, distance, plan.element_size);
  if (overlap == Overlap::none) {
    return;
  }
  const std::string_view output = plan.spec.in_place ? "diff_dst (the result, in place)" : "diff_src";
  refuse(output, " at ", static_cast<const void*>(pointers[diff_src]),
         overlap == Overlap::some ? " shares elements with " : " cannot be shown to share no elements with ",
         name_of(plan, input), " at ", static_cast<const void*>(pointers[input]),
         ", expected no shared elements, or exactly the same pointer and strides");
}

}  // namespace

std::string_view activation_name(const Plan& plan) {
  const bool is_src = plan.spec.operation == jit::Operation::elu_backward && !plan.spec.use_dst;
  return is_src ? "src" : "dst";
}

void check_in_place(const Plan& plan, const Buffers& buffers) {
  if (plan.spec.in_place && buffers.diff_src != nullptr && buffers.diff_src != buffers.diff_dst) {
    refuse("diff_src is ", buffers.diff_src, ", expected null or diff_dst (", buffers.diff_dst,
           "), because in_place is true");
  }
}

Pointers checked_pointers(const Plan& plan, const Buffers& buffers) {
  const bool in_place = plan.spec.in_place;
  // Inputs are only read, but for diff_dst in place.
  Pointers pointers = {
      static_cast<std::byte*>(const_cast<void*>(buffers.activation)),
      static_cast<std::byte*>(const_cast<void*>(buffers.diff_dst)),
      static_cast<std::byte*>(in_place ? const_cast<void*>(buffers.diff_dst) : buffers.diff_src)};
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    if (pointers[tensor] == nullptr) {
      refuse_null(plan, tensor);
    }
  }
  for (const Tensor input : {activation, diff_dst}) {
    if (!is_plainly_fine(plan, pointers, input)) {
      check_overlap(plan, pointers, input);
    }
  }
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    pointers[tensor] += plan.layout.offset[tensor];
  }
  return pointers;
}

}  // namespace gradjit::detail
