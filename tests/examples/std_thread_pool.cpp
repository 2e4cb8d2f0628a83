// gradjit on threads of your own: a pool of std::thread behind gradjit::Executor.

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <gradjit/gradjit.hpp>

/// A fixed number of threads that take tasks one after the other.
class ThreadPool final : public gradjit::Executor {
 public:
  explicit ThreadPool(int threads) {
    // The thread that calls parallel_for works too.
    for (int i = 1; i < threads; ++i) {
      workers_.emplace_back([this] { serve(); });
    }
  }

  ~ThreadPool() override {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    work_or_end_.notify_all();
    for (std::thread& worker : workers_) {
      worker.join();
    }
  }

  [[nodiscard]] int concurrency() const override { return static_cast<int>(workers_.size()) + 1; }

  void parallel_for(std::size_t tasks, void (*task)(void* context, std::size_t index),
                    void* context) override {
    // gradjit may call this from several threads at once; this pool does one job at a time.
    const std::lock_guard one_job(job_mutex_);
    {
      const std::lock_guard lock(mutex_);
      job_ = Job{tasks, task, context};
      next_ = 0;
      active_ = workers_.size();
      ++generation_;
    }
    work_or_end_.notify_all();
    take_tasks();
    // The tasks' context lives until here, so no worker may still be busy with it.
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [this] { return active_ == 0; });
  }

 private:
  struct Job {
    std::size_t tasks = 0;
    void (*task)(void* context, std::size_t index) = nullptr;
    void* context = nullptr;
  };

  void serve() {
    std::unique_lock lock(mutex_);
    for (std::size_t seen = 0;;) {
      work_or_end_.wait(lock, [&] { return is_ending_ || generation_ != seen; });
      if (is_ending_) {
        return;
      }
      seen = generation_;
      lock.unlock();
      take_tasks();
      lock.lock();
      if (--active_ == 0) {
        all_done_.notify_one();
      }
    }
  }

  void take_tasks() {
    for (std::size_t index = next_++; index < job_.tasks; index = next_++) {
      job_.task(job_.context, index);
    }
  }

  std::mutex job_mutex_;
  std::mutex mutex_;  // Of what follows, but for next_.
  std::condition_variable work_or_end_;
  std::condition_variable all_done_;
  Job job_;
  std::atomic<std::size_t> next_{0};
  std::size_t active_ = 0;      // Workers that are not yet done with the job.
  std::size_t generation_ = 0;  // Counts jobs.
  bool is_ending_ = false;
  std::vector<std::thread> workers_;
};

int main() {
  // Gradients of 512 rows of log-probabilities over 8192 classes.
  const gradjit::Dims dims = {512, 8192};
  const std::size_t elements = 512 * 8192;
  const std::vector<float> log_probabilities(elements, -9.0F);  // About log(1 / 8192).
  std::vector<float> gradient(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    gradient[i] = static_cast<float>(i % 17) - 8.0F;
  }
  std::vector<float> result(elements);
  std::vector<float> serial_result(elements);

  // The pool has to outlive the factory and its kernels, which borrow it.
  ThreadPool pool(4);
  gradjit::KernelFactory factory({.executor = pool});
  const auto kernel = factory.log_softmax_backward({.axis = 1}, {gradjit::DataType::f32, dims});
  kernel.run({.diff_dst = gradient.data(), .dst = log_probabilities.data(), .diff_src = result.data()});

  // Any call can have another executor. How work is cut changes no bit of the result.
  kernel.run({.diff_dst = gradient.data(), .dst = log_probabilities.data(), .diff_src = serial_result.data()},
             gradjit::serial_executor());
  const bool same = std::memcmp(result.data(), serial_result.data(), elements * sizeof(float)) == 0;
  std::printf("%s on %d threads: %s\n", kernel.name().c_str(), pool.concurrency(),
              same ? "the same bits as on one" : "DIFFERS from one thread");
  return same ? 0 : 1;
}
