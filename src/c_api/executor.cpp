#include <algorithm>

#include "src/c_api/guard.hpp"
#include "src/c_api/handles.hpp"

namespace gradjit::detail {
namespace {

template <Executor& (*executor)()>
gradjit_executor shipped() {
  return {.concurrency = [](void*) { return std::int32_t{executor().concurrency()}; },
          .parallel_for = [](void*, std::size_t tasks, gradjit_task task,
                             void* context) { executor().parallel_for(tasks, task, context); },
          .self = nullptr};
}

}  // namespace

CExecutor::CExecutor(const gradjit_executor& executor) : executor_(executor) {
  if (executor.concurrency == nullptr) {
    refuse("executor->concurrency is null, expected a function");
  }
  if (executor.parallel_for == nullptr) {
    refuse("executor->parallel_for is null, expected a function");
  }
}

int CExecutor::concurrency() const { return std::max(1, executor_.concurrency(executor_.self)); }

void CExecutor::parallel_for(std::size_t tasks, void (*task)(void* context, std::size_t index),
                             void* context) {
  executor_.parallel_for(executor_.self, tasks, task, context);
}

}  // namespace gradjit::detail

const gradjit_executor* gradjit_serial_executor(void) {
  static const gradjit_executor executor = gradjit::detail::shipped<gradjit::serial_executor>();
  return &executor;
}

const gradjit_executor* gradjit_openmp_executor(void) {
  static const gradjit_executor executor = gradjit::detail::shipped<gradjit::openmp_executor>();
  return &executor;
}
