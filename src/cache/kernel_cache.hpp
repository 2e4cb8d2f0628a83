#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <gradjit/kernel_factory.hpp>

#include "jit/kernel_spec.hpp"
#include "src/cache/compiled_kernel.hpp"
#include "src/cache/reader_locks.hpp"
#include "src/process/fork.hpp"

namespace gradjit::detail {

/// Keeps kernels by their spec, at most `capacity` of them. Thread-safe; usable in a forked child.
///
/// A hit costs some tens of nanoseconds, however many threads there are. Kernels that have not been asked
/// for lately are let go of first; "lately" is approximate (second chance, also known as clock).
class KernelCache {
 public:
  using Kernel = std::shared_ptr<const CompiledKernel>;
  /// Makes the kernel for a spec, or throws. It may not ask the same cache for the same spec.
  using Make = std::function<Kernel(const jit::KernelSpec&)>;

  /// With a capacity of 0 nothing is kept, but requests at the same time still share one kernel. `evicted`
  /// is called, outside every lock, after a kernel was let go of; it may not throw.
  explicit KernelCache(
      std::size_t capacity, std::function<void()> evicted = [] {});

  /// The kernel for `spec`; made by `make`, outside every lock, if it is not there. However many threads
  /// ask at once, one of them makes it and the others wait for it. When that fails, the one that made it
  /// gets the exception, and the others try again: nothing of a failure stays.
  [[nodiscard]] Kernel get(const jit::KernelSpec& spec, const Make& make);

  /// hits + misses is the number of requests; one that waited for another's kernel is a miss.
  [[nodiscard]] FactoryStats stats() const;

 private:
  /// By what was asked for; the kernel's own spec differs where code memory was denied.
  using Entries = std::unordered_map<jit::KernelSpec, Kernel, jit::KernelSpecHash>;
  using Clock = std::list<Entries::value_type*>;

  /// A kernel in the making.
  struct Flight {
    std::condition_variable done;
    bool over = false;
    Kernel kernel;  ///< Null if making it failed.
  };
  using Flights = std::unordered_map<jit::KernelSpec, std::shared_ptr<Flight>, jit::KernelSpecHash>;
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] Kernel find(const jit::KernelSpec& spec);
  [[nodiscard]] Kernel find_or_make(const jit::KernelSpec& spec, const Make& make);
  [[nodiscard]] Kernel lead(const jit::KernelSpec& spec, const Make& make, Lock& lock);
  void end(const jit::KernelSpec& spec, const std::shared_ptr<Flight>& flight, Kernel kernel) noexcept;
  void insert(const jit::KernelSpec& spec, const Kernel& kernel, Kernel& evicted);
  void move_hand_to_victim() noexcept;
  [[nodiscard]] Kernel remove_victim() noexcept;
  void on_fork(ForkEvent event) noexcept;

  const std::size_t capacity_;
  const std::function<void()> evicted_;

  // Entries and clock change only under both locks, and may be read under either one.
  mutable std::mutex mutex_;
  mutable ReaderLocks reader_locks_;
  Entries entries_;
  Clock clock_;  ///< All entries, in the order in which the hand comes by.
  Clock::iterator hand_ = clock_.end();

  // Under mutex_.
  Flights flights_;
  FactoryStats stats_;  ///< Without the hits that reader_locks_ counts, and without `kernels`.

  ForkHandler fork_handler_;
};

}  // namespace gradjit::detail
