#pragma once

#include <algorithm>
#include <cstddef>

#include <gradjit/executor.hpp>

namespace gradjit::test {

/// Claims to have threads, and runs tasks one by one on the caller's, the last first: what is tested is how
/// work is cut.
class ClaimedThreads final : public Executor {
 public:
  explicit ClaimedThreads(int threads) : threads_(threads) {}

  [[nodiscard]] int concurrency() const override { return threads_; }
  void parallel_for(std::size_t tasks, void (*task)(void* context, std::size_t index),
                    void* context) override {
    for (std::size_t i = tasks; i-- > 0;) {
      task(context, i);
    }
    ++calls_;
    most_tasks_ = std::max(most_tasks_, tasks);
  }

  /// How often parallel_for was called.
  [[nodiscard]] int calls() const { return calls_; }
  /// The most tasks of one call.
  [[nodiscard]] std::size_t most_tasks() const { return most_tasks_; }

 private:
  int threads_;
  int calls_ = 0;
  std::size_t most_tasks_ = 0;
};

}  // namespace gradjit::test
