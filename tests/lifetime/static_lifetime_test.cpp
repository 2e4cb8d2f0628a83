// Kernels are made and run before main and after it: a kernel in a global object is an ordinary thing.

#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/gradjit.hpp>

namespace gradjit::test {
namespace {

/// Along an axis that is not innermost, which takes scratch memory.
float first_result(KernelFactory& factory) {
  const std::vector<float> ones(6400, 1.0F);
  std::vector<float> out(6400);
  factory.log_softmax_backward({.axis = 0}, {DataType::f32, {100, 64}})
      .run({.diff_dst = ones.data(), .dst = out.data(), .diff_src = out.data()}, serial_executor());
  return out[0];
}

const float before_main = first_result(KernelFactory::shared());

TEST(StaticLifetime, KernelsWorkBeforeMain) { EXPECT_EQ(before_main, 1.0F - 100.0F); }

/// Another kernel in a destructor at the process's end: the exit status tells.
struct AtExit {
  bool armed = false;
  ~AtExit() {
    if (armed) {
      KernelFactory factory;
      std::_Exit(first_result(factory) == 1.0F - 100.0F ? 42 : 1);
    }
  }
};
AtExit at_exit;

TEST(StaticLifetime, KernelsWorkAfterMain) {
  EXPECT_EXIT(
      {
        at_exit.armed = true;
        std::exit(0);
      },
      testing::ExitedWithCode(42), "");
}

struct AtThreadExit {
  float* result;
  ~AtThreadExit() { *result = first_result(KernelFactory::shared()); }
};

TEST(StaticLifetime, KernelsWorkInDestructorsOfThreadLocals) {
  float before = 0;
  float after = 0;
  std::thread([&] {
    thread_local const AtThreadExit at_thread_exit{&after};
    static_cast<void>(at_thread_exit.result);
    before = first_result(KernelFactory::shared());
  }).join();
  EXPECT_EQ(before, -99.0F);
  EXPECT_EQ(after, -99.0F);
}

}  // namespace
}  // namespace gradjit::test
