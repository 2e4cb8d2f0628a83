// Prints how many threads the openmp executor uses: for tests that limit the CPUs of a process from outside.

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>

#include <gradjit/executor.hpp>

namespace {

class Threads {
 public:
  /// Takes so long that each thread of a team gets a task.
  void note() {
    {
      const std::lock_guard lock(mutex_);
      ids_.insert(std::this_thread::get_id());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  [[nodiscard]] std::size_t count() const { return ids_.size(); }

 private:
  std::mutex mutex_;
  std::set<std::thread::id> ids_;
};

}  // namespace

int main() {
  Threads threads;
  gradjit::openmp_executor().parallel_for(
      64, [](void* context, std::size_t) { static_cast<Threads*>(context)->note(); }, &threads);
  std::printf("%zu\n", threads.count());
}
