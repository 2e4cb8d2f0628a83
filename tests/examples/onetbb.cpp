// gradjit on oneTBB's threads, so that it shares them with the rest of a program.

#include <cstdio>
#include <cstring>
#include <vector>

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <gradjit/gradjit.hpp>

/// Runs gradjit's tasks in an arena of oneTBB's.
class TbbExecutor final : public gradjit::Executor {
 public:
  explicit TbbExecutor(int threads) : arena_(threads) {}

  [[nodiscard]] int concurrency() const override { return arena_.max_concurrency(); }

  void parallel_for(std::size_t tasks, void (*task)(void* context, std::size_t index),
                    void* context) override {
    // In isolation, a thread that waits for the end takes no task of another job meanwhile, which might run
    // a kernel itself.
    arena_.execute([&] {
      oneapi::tbb::this_task_arena::isolate([&] {
        oneapi::tbb::parallel_for(std::size_t{0}, tasks, [&](std::size_t index) { task(context, index); });
      });
    });
  }

 private:
  oneapi::tbb::task_arena arena_;
};

int main() {
  // The gradient of an ELU between two layers, for a batch of images of 64 channels.
  const gradjit::Dims dims = {32, 64, 28, 28};
  const std::size_t elements = 32 * 64 * 28 * 28;
  std::vector<float> x(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    x[i] = static_cast<float>(i % 1001) / 250.0F - 2.0F;
  }
  const std::vector<float> gradient(elements, 0.5F);
  std::vector<float> result(elements);
  std::vector<float> serial_result(elements);

  // The executor has to outlive the factory and its kernels, which borrow it.
  TbbExecutor executor(4);
  gradjit::KernelFactory factory({.executor = executor});
  const auto kernel = factory.elu_backward({.alpha = 1.0F, .use_dst = false}, {gradjit::DataType::f32, dims});
  kernel.run({.src = x.data(), .diff_dst = gradient.data(), .diff_src = result.data()});

  // Any call can have another executor. How work is cut changes no bit of the result.
  kernel.run({.src = x.data(), .diff_dst = gradient.data(), .diff_src = serial_result.data()},
             gradjit::serial_executor());
  const bool same = std::memcmp(result.data(), serial_result.data(), elements * sizeof(float)) == 0;
  std::printf("%s on %d threads of oneTBB: %s\n", kernel.name().c_str(), executor.concurrency(),
              same ? "the same bits as on one" : "DIFFERS from one thread");
  return same ? 0 : 1;
}
