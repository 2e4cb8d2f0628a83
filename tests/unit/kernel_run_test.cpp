#include <random>
#include <string>

#include <gtest/gtest.h>

#include "src/execute/kernel_state.hpp"
#include "tests/support/strided_case.hpp"

namespace gradjit::test {
namespace {

/// Claims to have threads, and runs tasks backwards.
class BackwardExecutor final : public Executor {
 public:
  explicit BackwardExecutor(int concurrency) : concurrency_(concurrency) {}

  [[nodiscard]] int concurrency() const override { return concurrency_; }
  void parallel_for(std::size_t tasks, void (*task)(void* context, std::size_t index), void* context) override {
    for (std::size_t i = tasks; i-- > 0;) {
      task(context, i);
    }
    tasks_ += tasks;
  }

  [[nodiscard]] std::size_t tasks() const { return tasks_; }

 private:
  int concurrency_;
  std::size_t tasks_ = 0;
};

KernelFactory& portable_factory() {
  static KernelFactory factory({.max_isa = Isa::portable, .executor = serial_executor()});
  return factory;
}

void expect_no_difference(const StridedCase& c, Executor& executor) {
  ASSERT_EQ(difference(c, portable_factory(), executor), "") << text_of(c);
}

StridedCase dense_case(bool is_elu, DataType dtype, const Dims& dims, std::int64_t axis = -1) {
  StridedCase c;
  c.is_elu = is_elu;
  c.dtype = dtype;
  c.dims = dims;
  c.axis = axis;
  c.strides.fill(dense_strides(dims));
  return c;
}

TEST(KernelRun, RandomCasesGiveTheBitsOfOneColumnAtATime) {
  std::mt19937 random(1);
  for (int i = 0; i < 4000; ++i) {
    const StridedCase c = random_case(random, i % 20 == 0 ? 20000 : 1500);
    expect_no_difference(c, serial_executor());
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST(KernelRun, TheCutDoesNotChangeBits) {
  std::mt19937 random(2);
  BackwardExecutor executors[] = {BackwardExecutor(2), BackwardExecutor(3), BackwardExecutor(64)};
  for (int i = 0; i < 60; ++i) {
    const StridedCase c = random_case(random, 200000);
    expect_no_difference(c, executors[i % 3]);
    if (HasFatalFailure()) {
      return;
    }
  }
  for (const BackwardExecutor& executor : executors) {
    EXPECT_GT(executor.tasks(), 0U);
  }
}

TEST(KernelRun, LongAxesAreSummedInSegments) {
  BackwardExecutor executor(5);
  const std::int64_t segment = jit::segment_length;
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    for (const std::int64_t length : {segment, segment + 1, 2 * segment, 3 * segment + 77}) {
      for (const Dims& dims : {Dims{length}, Dims{2, length}, Dims{length, 3}, Dims{length, 20}}) {
        StridedCase c = dense_case(false, dtype, dims, dims.size() == 1 || dims[0] == 2 ? -1 : 0);
        expect_no_difference(c, serial_executor());
        expect_no_difference(c, executor);
        for (std::int64_t& stride : c.strides[1]) {
          stride *= -2;
        }
        expect_no_difference(c, executor);
        c.sharing = Sharing::in_place;
        c.strides[2] = c.strides[1];
        expect_no_difference(c, executor);
      }
    }
  }
}

TEST(KernelRun, FrameworkLayoutsWork) {
  BackwardExecutor executor(4);
  const Dims dims = {3, 21, 14, 30};
  const Dims channels_last = {21 * 14 * 30, 1, 21 * 30, 21};
  for (const bool is_elu : {true, false}) {
    for (int mask = 0; mask < 8; ++mask) {
      StridedCase c = dense_case(is_elu, mask % 2 == 0 ? DataType::f32 : DataType::f16, dims, 1);
      for (std::size_t tensor = 0; tensor < 3; ++tensor) {
        if ((mask >> tensor & 1) != 0) {
          c.strides[tensor] = channels_last;
        }
      }
      expect_no_difference(c, serial_executor());
      expect_no_difference(c, executor);
    }
  }
}

}  // namespace
}  // namespace gradjit::test
