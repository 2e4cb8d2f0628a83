#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <gradjit/executor.hpp>
#include <gradjit/kernel.hpp>
#include <gradjit/operations.hpp>

namespace gradjit {

struct FactoryOptions {
  /// The highest instruction set to use; the CPU's own highest when left out. GRADJIT_MAX_ISA in the
  /// environment caps it further.
  std::optional<Isa> max_isa = std::nullopt;
  /// How many kernels the cache keeps; 0 keeps none. Handles outlive their eviction.
  std::size_t cache_capacity = 1024;
  /// What `run` uses when it is given no executor; `openmp_executor()` when left out.
  ExecutorRef executor = {};
};

/// Counters of a factory since it was made. A request looks up a kernel, or several where strides or a long
/// axis need more than one. What `run` generates by itself, for a diff_src at an address that a kernel for
/// large tensors can't take, is the handle's own and not counted.
struct FactoryStats {
  std::uint64_t hits = 0;        ///< Kernels looked up that the cache held.
  std::uint64_t misses = 0;      ///< Kernels looked up that it did not hold.
  std::uint64_t emissions = 0;   ///< Kernels generated for requests; one per key however many threads ask.
  std::uint64_t evictions = 0;   ///< Kernels that the cache let go of.
  std::uint64_t kernels = 0;     ///< Kernels that it holds now.
  std::uint64_t code_bytes = 0;  ///< Bytes of code of the kernels that it holds now.
};

/// Makes kernels, and keeps them: a second request with the same attributes and the same kind of shape
/// generates nothing. Safe to use from any number of threads; generation happens outside every lock.
///
/// Requests throw `Error`: `invalid_argument` (negative or NaN alpha, axis out of range, rank over
/// `max_rank`, mixed dtypes, dims or strides that do not fit together, a product that overflows 64 bits,
/// an output that overlaps itself; GRADJIT_PERF set to something that it doesn't know), `out_of_memory`.
class GRADJIT_API KernelFactory {
 public:
  /// Probes the CPU once per process. Throws `Error` (invalid_argument) for a wrong GRADJIT_MAX_ISA,
  /// and (unsupported) for a `max_isa` that the CPU does not have.
  explicit KernelFactory(const FactoryOptions& options = {});
  ~KernelFactory();
  KernelFactory(const KernelFactory&) = delete;
  KernelFactory& operator=(const KernelFactory&) = delete;

  /// All tensors as `desc` says.
  [[nodiscard]] EluBackwardKernel elu_backward(const EluBackward& attributes, const TensorDesc& desc);
  /// Each tensor with its own strides.
  [[nodiscard]] EluBackwardKernel elu_backward(const EluBackward& attributes,
                                               const EluBackwardTensors& tensors);

  [[nodiscard]] LogSoftmaxBackwardKernel log_softmax_backward(const LogSoftmaxBackward& attributes,
                                                              const TensorDesc& desc);
  [[nodiscard]] LogSoftmaxBackwardKernel log_softmax_backward(const LogSoftmaxBackward& attributes,
                                                              const LogSoftmaxBackwardTensors& tensors);

  /// The instruction set that kernels of this factory use.
  [[nodiscard]] Isa isa() const noexcept;
  [[nodiscard]] FactoryStats stats() const;

  /// The process-wide factory with default options; lives until the process ends.
  [[nodiscard]] static KernelFactory& shared();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace gradjit
