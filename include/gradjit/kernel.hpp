#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <gradjit/executor.hpp>
#include <gradjit/operations.hpp>

namespace gradjit {

namespace detail {
class KernelState;
}

/// What the kernels of both operations have in common: a cheap, copyable handle that keeps its code
/// alive, also after the factory or its cache has let go of it. Safe to use from any number of threads.
class GRADJIT_API Kernel {
 public:
  /// Names what was generated, for example "elu_backward_f32_avx512_alpha_0x1p+0_src". Where strides or a
  /// long axis need several kernels, this and `code` are of the one that writes diff_src.
  [[nodiscard]] const std::string& name() const noexcept;
  /// The instruction set that it uses.
  [[nodiscard]] Isa isa() const noexcept;
  /// The machine code of the kernel and its constants; empty on the portable path.
  [[nodiscard]] std::span<const std::byte> code() const noexcept;

 protected:
  explicit Kernel(std::shared_ptr<const detail::KernelState> state) : state_(std::move(state)) {}
  [[nodiscard]] const detail::KernelState& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<const detail::KernelState> state_;
};

/// An EluBackward kernel for tensors of one description. See `EluBackward` for what it computes.
class GRADJIT_API EluBackwardKernel : public Kernel {
 public:
  /// Computes diff_src on the factory's executor, and returns when it is complete. Re-entrant. Takes up to 64
  /// KiB of stack, on every thread that it runs on.
  /// Throws `Error`: invalid_argument for a null or wrongly overlapping buffer, or one that the attributes
  /// don't ask for, before anything is written; out_of_memory where there is none for scratch, when part of
  /// diff_src may have been.
  void run(const EluBackwardArgs& args) const;
  /// The same on another executor, borrowed for the call.
  void run(const EluBackwardArgs& args, Executor& executor) const;

 private:
  friend class KernelFactory;
  using Kernel::Kernel;
};

/// A LogSoftmaxBackward kernel for tensors of one description. See `LogSoftmaxBackward`.
class GRADJIT_API LogSoftmaxBackwardKernel : public Kernel {
 public:
  /// As `EluBackwardKernel::run`.
  void run(const LogSoftmaxBackwardArgs& args) const;
  void run(const LogSoftmaxBackwardArgs& args, Executor& executor) const;

 private:
  friend class KernelFactory;
  using Kernel::Kernel;
};

}  // namespace gradjit
