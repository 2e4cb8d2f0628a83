// Every count of elements from 0 to 67, small enough to be run under emulators and valgrind too: four full
// AVX2 vectors and each partial one, along each position of the axis.

#include <cstdlib>
#include <random>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/support/kernel_case.hpp"

namespace gradjit::test {
namespace {

constexpr std::int64_t greatest_count = 67;

class EveryCount : public testing::TestWithParam<std::tuple<DataType, bool>> {
 protected:
  void check_elu_backward(std::int64_t count, float alpha, bool use_dst) {
    check({.is_elu = true, .dims = {count}, .alpha = alpha, .use_dst = use_dst});
  }
  void check_log_softmax_backward(const Dims& dims, std::int64_t axis) {
    // NaN along an axis hides what else may be wrong there: few of them.
    check({.is_elu = false, .dims = dims, .axis = axis, .special_one_in = 150});
  }

 private:
  void check(KernelCase c) {
    c.dtype = std::get<0>(GetParam());
    c.in_place = std::get<1>(GetParam());
    expect_same_bits(c, random_inputs(c, random_));
  }

  std::mt19937 random_{67};
};

TEST_P(EveryCount, EluBackward) {
  for (std::int64_t count = 0; count <= greatest_count; ++count) {
    for (const float alpha : {0.0F, 1.0F, 1.6732632F}) {
      check_elu_backward(count, alpha, false);
    }
    check_elu_backward(count, 0.37F, true);
  }
}

TEST_P(EveryCount, LogSoftmaxBackwardAlongTheLastAxis) {
  for (std::int64_t count = 0; count <= greatest_count; ++count) {
    check_log_softmax_backward({3, count}, 1);
    check_log_softmax_backward({count, 5}, 1);
  }
}

TEST_P(EveryCount, LogSoftmaxBackwardAlongTheFirstAxis) {
  for (std::int64_t count = 0; count <= greatest_count; ++count) {
    check_log_softmax_backward({count, 9}, 0);
    check_log_softmax_backward({3, count}, 0);
  }
}

TEST_P(EveryCount, LogSoftmaxBackwardAlongAMiddleAxis) {
  for (std::int64_t count = 0; count <= greatest_count; ++count) {
    check_log_softmax_backward({2, count, 7}, 1);
    check_log_softmax_backward({2, 5, count}, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, EveryCount,
                         testing::Combine(testing::Values(DataType::f32, DataType::bf16, DataType::f16),
                                          testing::Bool()),
                         [](const auto& test) {
                           return std::string(name_of(std::get<0>(test.param))) +
                                  (std::get<1>(test.param) ? "_in_place" : "");
                         });

/// Under an emulator the tests above are worth nothing if the probe does not find what the emulator offers.
TEST(EveryCountCoverage, TheProbeFindsTheExpectedIsa) {
  const char* expected = std::getenv("GRADJIT_TEST_EXPECTED_ISA");
  if (expected == nullptr) {
    GTEST_SKIP() << "GRADJIT_TEST_EXPECTED_ISA is not set: it is under emulators";
  }
  EXPECT_EQ(name_of(KernelFactory().isa()), expected);
}

}  // namespace
}  // namespace gradjit::test
