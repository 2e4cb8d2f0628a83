#pragma once

#include <cstddef>
#include <memory>

#include <gradjit/export.hpp>

namespace gradjit {

/// Runs independent tasks, possibly at the same time. Put your own thread pool behind it.
class GRADJIT_API Executor {
 public:
  virtual ~Executor() = default;

  /// How many tasks can run at once; at least 1. gradjit cuts work into about as many parts. It does
  /// not affect results: the bits are the same for any cut.
  [[nodiscard]] virtual int concurrency() const = 0;

  /// Calls `task(context, index)` once for each index in [0, tasks), in any order, on any threads, and
  /// returns when all have returned. Tasks don't throw. May be called from several threads at once.
  virtual void parallel_for(std::size_t tasks, void (*task)(void* context, std::size_t index),
                            void* context) = 0;
};

/// Runs everything on the calling thread. Lives as long as the process.
[[nodiscard]] GRADJIT_API Executor& serial_executor();

/// Runs on OpenMP's threads: respects OMP_NUM_THREADS and the CPUs that the process may use, stays on
/// the calling thread inside a parallel region and in a forked child. The default. Lives as long as
/// the process. (Where the system refuses to start a thread, libgomp ends the process: OMP_NUM_THREADS=1 or
/// `serial_executor` need none.)
[[nodiscard]] GRADJIT_API Executor& openmp_executor();

/// Names an executor in `FactoryOptions`: borrowed (a reference or a pointer: it must outlive the
/// factory and its kernels) or shared.
class ExecutorRef {
 public:
  ExecutorRef() = default;
  ExecutorRef(Executor& borrowed) : executor_(std::shared_ptr<void>(), &borrowed) {}
  ExecutorRef(Executor* borrowed) : executor_(std::shared_ptr<void>(), borrowed) {}
  template <typename T>
  ExecutorRef(std::shared_ptr<T> shared) : executor_(std::move(shared)) {}

  [[nodiscard]] Executor* get() const noexcept { return executor_.get(); }

 private:
  std::shared_ptr<Executor> executor_;
};

}  // namespace gradjit
