#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>

#include <omp.h>

#include <gradjit/executor.hpp>

#include "src/execute/cpu_quota.hpp"
#include "src/process/fork.hpp"

namespace gradjit {
namespace {

// As many threads as the quota keeps busy, a part of one counted as one.
int read_quota() {
  constexpr double unlimited = std::numeric_limits<int>::max();
  try {
    return static_cast<int>(std::clamp(std::ceil(detail::cpu_quota().value_or(unlimited)), 1.0, unlimited));
  } catch (const std::exception&) {
    return static_cast<int>(unlimited);  // A quota that can't be read limits nothing.
  }
}

// The least of OMP_NUM_THREADS (or omp_set_num_threads), the CPUs that the calling thread may use, and the
// CPUs that the control group pays for.
int team_size() {
  // GNU's OpenMP hangs in a forked child, where its threads don't exist. Inside a parallel region, the
  // CPUs are busy with the other threads of that region.
  if (detail::in_forked_child() || omp_in_parallel() != 0) {
    return 1;
  }
  static const int quota = read_quota();
  const int wanted = std::min(omp_get_max_threads(), quota);
  // Not kept: threads get pinned at any time. It is a system call, so it comes last.
  return wanted <= 1 ? 1 : std::clamp(omp_get_num_procs(), 1, wanted);
}

// The tasks of one call. Threads take one after the other, so that a slow one delays only itself.
class Job {
 public:
  Job(std::size_t tasks, void (*task)(void* context, std::size_t index), void* context)
      : tasks_(tasks), task_(task), context_(context) {
    next_.store(0, std::memory_order_release);
  }

  // Returns when no task is left to take, having seen what finished tasks did.
  void work() {
    // The read sees what was written before the job was made. The addition that finds no task left makes
    // known what this thread did; the thread doesn't look at the job after it.
    static_cast<void>(next_.load(std::memory_order_acquire));
    const std::size_t tasks = tasks_;
    for (std::size_t index = take(); index < tasks; index = take()) {
      task_(context_, index);
    }
  }

 private:
  std::size_t take() { return next_.fetch_add(1, std::memory_order_acq_rel); }

  std::size_t tasks_;
  void (*task_)(void* context, std::size_t index);
  void* context_;
  std::atomic<std::size_t> next_;
};

// ThreadSanitizer can't see how OpenMP hands the job to its threads and waits for them; it sees the job's
// own synchronisation, which says as much.
__attribute__((no_sanitize("thread"))) void work_as_team(Job& job, int threads) {
#pragma omp parallel num_threads(threads)
  job.work();
}

class OpenMpExecutor final : public Executor {
 public:
  [[nodiscard]] int concurrency() const override { return team_size(); }

  void parallel_for(std::size_t tasks, void (*task)(void* context, std::size_t index),
                    void* context) override {
    Job job(tasks, task, context);
    // Not fewer threads where there are fewer tasks: GNU's OpenMP ends threads that one region doesn't use
    // and starts them again for the next.
    const int threads = tasks < 2 ? 1 : team_size();
    if (threads > 1) {
      work_as_team(job, threads);
    }
    // Alone, this does all of the tasks; after a team, none, but it sees what the team did.
    job.work();
  }
};

}  // namespace

Executor& openmp_executor() {
  // Never destroyed: kernels may still run while the process exits.
  static OpenMpExecutor& instance = *new OpenMpExecutor;
  return instance;
}

}  // namespace gradjit
