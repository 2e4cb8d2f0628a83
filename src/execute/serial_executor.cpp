#include <gradjit/executor.hpp>

namespace gradjit {
namespace {

class SerialExecutor final : public Executor {
 public:
  [[nodiscard]] int concurrency() const override { return 1; }

  void parallel_for(std::size_t tasks, void (*task)(void* context, std::size_t index),
                    void* context) override {
    for (std::size_t index = 0; index < tasks; ++index) {
      task(context, index);
    }
  }
};

}  // namespace

Executor& serial_executor() {
  // Never destroyed: kernels may still run while the process exits.
  static SerialExecutor& instance = *new SerialExecutor;
  return instance;
}

}  // namespace gradjit
