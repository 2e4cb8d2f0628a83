#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "jit/kernel_spec.hpp"
#include "tests/support/executors.hpp"
#include "tests/support/strided_case.hpp"

namespace gradjit::test {
namespace {

void expect_no_difference(const StridedCase& c, Executor& executor) {
  static const Factories factories = all_factories();
  ASSERT_EQ(difference(c, factories, executor), "") << text_of(c);
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

// The fuzz test has many more; this has each on all instruction sets.
TEST(KernelRun, RandomCasesGiveTheBitsOfOneColumnAtATime) {
  std::mt19937 random(1);
  for (int i = 0; i < 1500; ++i) {
    const StridedCase c = random_case(random, i % 30 == 0 ? 20000 : 1500);
    expect_no_difference(c, serial_executor());
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST(KernelRun, TheCutDoesNotChangeBits) {
  std::mt19937 random(2);
  ClaimedThreads executors[] = {ClaimedThreads(2), ClaimedThreads(3), ClaimedThreads(64)};
  for (int i = 0; i < 150; ++i) {
    const StridedCase c = random_case(random, 150000);
    expect_no_difference(c, executors[i % 3]);
    if (HasFatalFailure()) {
      return;
    }
  }
  for (const ClaimedThreads& executor : executors) {
    EXPECT_GT(executor.calls(), 0);
  }
}

TEST(KernelRun, ThreadsDoNotDisturbOneAnother) {
  const Factories factories = all_factories();
  std::vector<std::string> found(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&factories, &found, i] {
      std::mt19937 random(static_cast<std::uint32_t>(i));
      for (int k = 0; k < 100 && found[i].empty(); ++k) {
        const StridedCase c = random_case(random, k % 10 == 0 ? 80000 : 1500);
        found[i] = difference(c, factories, openmp_executor());
        found[i] += found[i].empty() ? "" : ": " + text_of(c);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::string& text : found) {
    EXPECT_EQ(text, "");
  }
}

TEST(KernelRun, LongAxesAreSummedInSegments) {
  ClaimedThreads executor(5);
  const std::int64_t segment = jit::segment_length;
  for (const Dims& dims : {Dims{segment}, Dims{2, segment + 1}, Dims{2 * segment}, Dims{3 * segment + 77},
                           Dims{segment + 9, 3}, Dims{2 * segment, 2}, Dims{segment + 1, 17}}) {
    const bool is_innermost = dims.size() == 1 || dims[0] == 2;
    StridedCase c =
        dense_case(false, dims.back() % 2 == 0 ? DataType::f32 : DataType::bf16, dims, is_innermost ? -1 : 0);
    expect_no_difference(c, serial_executor());
    expect_no_difference(c, executor);
    c.sharing = Sharing::in_place;
    for (std::int64_t& stride : c.strides[1]) {
      stride *= -2;
    }
    c.strides[2] = c.strides[1];
    expect_no_difference(c, executor);
  }
}

TEST(KernelRun, LongColumnsThatLieApartComeInParts) {
  ClaimedThreads executor(5);
  for (const std::int64_t length : {4100, 65536 + 13}) {
    for (const std::size_t kind : {0U, 1U, 2U, 3U, 4U}) {
      const Dims dims = kind % 2 == 0 ? Dims{2, length, 3} : Dims{1, length, 17};
      StridedCase c = dense_case(false, kind % 2 == 0 ? DataType::f32 : DataType::f16, dims, 1);
      const Dims transposed = {length, 1, dims[0] * length};
      const Dims apart = {length * dims[2] * 5, dims[2] * 5, 5};
      for (std::size_t tensor = 0; tensor < 3; ++tensor) {
        if (kind == 4) {
          c.strides[tensor] = apart;
        } else if (kind == 3 || kind == tensor) {
          c.strides[tensor] = transposed;
        }
      }
      expect_no_difference(c, serial_executor());
      c.sharing = Sharing::in_place;
      c.strides[2] = c.strides[1];
      expect_no_difference(c, executor);
    }
  }
}

TEST(KernelRun, LargeWorkOfAnyShapeIsForAllThreads) {
  // Many short rows, few long ones, one; the same as columns. An axis of -1 stands for EluBackward.
  const std::vector<float> ones(1 << 20, 1.0F);
  std::vector<float> result(1 << 20);
  for (const Dims& dims : {Dims{70'000, 10}, Dims{3, 200'000}, Dims{1, 1 << 20}, Dims{10, 70'000},
                           Dims{200'000, 3}, Dims{1 << 20, 1}, Dims{9, 2000, 49}}) {
    for (std::int64_t axis = -1; axis < std::ssize(dims); ++axis) {
      ClaimedThreads executor(7);
      if (axis < 0) {
        KernelFactory::shared()
            .elu_backward({.alpha = 1}, {DataType::f32, dims})
            .run({.dst = ones.data(), .diff_dst = ones.data(), .diff_src = result.data()}, executor);
      } else {
        KernelFactory::shared()
            .log_softmax_backward({.axis = axis}, {DataType::f32, dims})
            .run({.diff_dst = ones.data(), .dst = ones.data(), .diff_src = result.data()}, executor);
      }
      EXPECT_GE(executor.most_tasks(), 7U) << text_of(dense_case(axis < 0, DataType::f32, dims, axis));
    }
  }
}

TEST(KernelRun, FrameworkLayoutsWork) {
  ClaimedThreads executor(4);
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
