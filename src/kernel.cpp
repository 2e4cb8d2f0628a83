#include <gradjit/kernel.hpp>

#include "src/execute/kernel_state.hpp"
#include "src/out_of_memory.hpp"
#include "src/plan/message.hpp"

namespace gradjit {
namespace {

using detail::Buffers;
using detail::KernelState;

Buffers buffers_of(const KernelState& state, const EluBackwardArgs& args) {
  const bool use_dst = state.plan().spec.use_dst;
  if ((use_dst ? args.src : args.dst) != nullptr) {
    detail::refuse(
        use_dst ? "src is " : "dst is ", use_dst ? args.src : args.dst, ", expected null and ",
        use_dst ? "dst instead, because use_dst is true" : "src instead, because use_dst is false");
  }
  return {use_dst ? args.dst : args.src, args.diff_dst, args.diff_src};
}

Buffers buffers_of(const LogSoftmaxBackwardArgs& args) { return {args.dst, args.diff_dst, args.diff_src}; }

}  // namespace

const std::string& Kernel::name() const noexcept { return state_->main_kernel().name; }

Isa Kernel::isa() const noexcept { return state_->main_kernel().spec.isa; }

std::span<const std::byte> Kernel::code() const noexcept {
  const auto& code = state_->main_kernel().code;
  return code ? std::as_bytes(code->bytes()) : std::span<const std::byte>();
}

void EluBackwardKernel::run(const EluBackwardArgs& args) const {
  detail::reporting_out_of_memory([&] { state().run(buffers_of(state(), args)); });
}

void EluBackwardKernel::run(const EluBackwardArgs& args, Executor& executor) const {
  detail::reporting_out_of_memory([&] { state().run(buffers_of(state(), args), executor); });
}

void LogSoftmaxBackwardKernel::run(const LogSoftmaxBackwardArgs& args) const {
  detail::reporting_out_of_memory([&] { state().run(buffers_of(args)); });
}

void LogSoftmaxBackwardKernel::run(const LogSoftmaxBackwardArgs& args, Executor& executor) const {
  detail::reporting_out_of_memory([&] { state().run(buffers_of(args), executor); });
}

}  // namespace gradjit
