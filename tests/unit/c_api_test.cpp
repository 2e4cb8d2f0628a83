// gradjit.h, called from C++ for the sake of the tests; tests/consumer calls it from C and Python.
#include "tests/support/c_api.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/gradjit.h>
#include <gradjit/gradjit.hpp>

namespace gradjit::test {
namespace {

TEST_F(CApi, ComputesWhatCppDoes) {
  const gradjit_elu_backward_args args = {
      .src = x_.data(), .dst = nullptr, .diff_dst = g_.data(), .diff_src = out_.data()};
  expect_success(gradjit_elu_backward_run(elu_, &args, nullptr));
  EXPECT_EQ(out_, expected_elu(false));

  CKernel from_dst;
  expect_success(gradjit_elu_backward_create(factory_, 0.5F, 1, 0, desc_, &from_dst));
  const gradjit_elu_backward_args dst_args = {
      .src = nullptr, .dst = x_.data(), .diff_dst = g_.data(), .diff_src = out_.data()};
  expect_success(gradjit_elu_backward_run(from_dst, &dst_args, gradjit_serial_executor()));
  EXPECT_EQ(out_, expected_elu(true));

  const gradjit_log_softmax_backward_args log_softmax_args = {
      .diff_dst = g_.data(), .dst = x_.data(), .diff_src = out_.data()};
  expect_success(
      gradjit_log_softmax_backward_run(log_softmax_, &log_softmax_args, gradjit_openmp_executor()));
  EXPECT_EQ(out_, expected_log_softmax());
}

TEST_F(CApi, OverwritesDiffDstInPlace) {
  CKernel elu;
  expect_success(gradjit_elu_backward_create(factory_, 0.5F, 0, 1, desc_, &elu));
  const std::vector<float> expected = expected_elu(false);
  const std::vector<float> log_softmax_expected = expected_log_softmax();
  const std::vector<float> g = g_;
  gradjit_elu_backward_args args = {
      .src = x_.data(), .dst = nullptr, .diff_dst = g_.data(), .diff_src = nullptr};
  expect_success(gradjit_elu_backward_run(elu, &args, nullptr));
  EXPECT_EQ(g_, expected);

  g_ = g;
  CKernel log_softmax;
  expect_success(gradjit_log_softmax_backward_create(factory_, -1, 1, desc_, &log_softmax));
  const gradjit_log_softmax_backward_args log_softmax_args = {
      .diff_dst = g_.data(), .dst = x_.data(), .diff_src = g_.data()};
  expect_success(gradjit_log_softmax_backward_run(log_softmax, &log_softmax_args, nullptr));
  EXPECT_EQ(g_, log_softmax_expected);

  args.diff_src = out_.data();
  EXPECT_EQ(gradjit_elu_backward_run(elu, &args, nullptr), GRADJIT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(gradjit_last_error()).find("diff_src is "), std::string::npos);
}

/// The same values with the columns of the result one after the other.

TEST_F(CApi, TakesStridesPerTensor) {
  constexpr std::array<std::int64_t, 2> dims = {2, 3};
  constexpr std::array<std::int64_t, 2> columns = {1, 2};
  Desc transposed;
  expect_success(gradjit_tensor_desc_create(GRADJIT_F32, 2, dims.data(), columns.data(), &transposed));
  const auto expect_transposed = [this](const std::vector<float>& expected) {
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(out_[i / 3 + 2 * (i % 3)], expected[i]) << i;
  };

  CKernel elu;
  gradjit_elu_backward_tensors tensors = {
      .src = desc_, .dst = nullptr, .diff_dst = desc_, .diff_src = transposed};
  expect_success(gradjit_elu_backward_create_strided(factory_, 0.5F, 0, 0, &tensors, &elu));
  const gradjit_elu_backward_args args = {
      .src = x_.data(), .dst = nullptr, .diff_dst = g_.data(), .diff_src = out_.data()};
  expect_success(gradjit_elu_backward_run(elu, &args, nullptr));
  expect_transposed(expected_elu(false));

  CKernel log_softmax;
  const gradjit_log_softmax_backward_tensors log_softmax_tensors = {
      .diff_dst = desc_, .dst = desc_, .diff_src = transposed};
  expect_success(
      gradjit_log_softmax_backward_create_strided(factory_, 1, 0, &log_softmax_tensors, &log_softmax));
  const gradjit_log_softmax_backward_args log_softmax_args = {
      .diff_dst = g_.data(), .dst = x_.data(), .diff_src = out_.data()};
  expect_success(gradjit_log_softmax_backward_run(log_softmax, &log_softmax_args, nullptr));
  expect_transposed(expected_log_softmax());

  // A description left out is one that is missing.
  CKernel none;
  tensors.diff_dst = nullptr;
  const TensorDesc desc(DataType::f32, {2, 3});
  expect_error(gradjit_elu_backward_create_strided(factory_, 0.5F, 0, 0, &tensors, &none), message_of([&] {
                 (void)KernelFactory().elu_backward({.alpha = 0.5F, .use_dst = false},
                                                    {.src = desc, .diff_src = desc});
               }));
  EXPECT_EQ(static_cast<gradjit_kernel*>(none), nullptr);
}

TEST_F(CApi, RankZeroAndSixteenBitTypesWork) {
  Desc scalar;
  expect_success(gradjit_tensor_desc_create(GRADJIT_BF16, 0, nullptr, nullptr, &scalar));
  CKernel kernel;
  expect_success(gradjit_elu_backward_create(factory_, 1, 0, 0, scalar, &kernel));
  const std::uint16_t src = 0x3f80;  // 1
  const std::uint16_t g = 0x4040;    // 3
  std::uint16_t result = 0;
  const gradjit_elu_backward_args args = {.src = &src, .dst = nullptr, .diff_dst = &g, .diff_src = &result};
  expect_success(gradjit_elu_backward_run(kernel, &args, nullptr));
  EXPECT_EQ(result, g);
}

/// Counts what is asked of it, and runs tasks on threads of its own.

struct OwnThreads {
  std::atomic<int> tasks{0};
  int threads = 3;

  static std::int32_t concurrency(void* self) { return static_cast<OwnThreads*>(self)->threads; }
  static void parallel_for(void* self, std::size_t tasks, gradjit_task task, void* context) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < tasks; ++i) threads.emplace_back(task, context, i);
    for (std::thread& thread : threads) thread.join();
    static_cast<OwnThreads*>(self)->tasks += static_cast<int>(tasks);
  }
  gradjit_executor executor() {
    return {.concurrency = concurrency, .parallel_for = parallel_for, .self = this};
  }
};

/// EluBackward of enough elements to be cut, on `executor` or the factory's.

void run_large(gradjit_factory* factory, const gradjit_executor* executor) {
  constexpr std::int64_t size = 1 << 20;
  Desc desc;
  CKernel kernel;
  expect_success(gradjit_tensor_desc_create(GRADJIT_F32, 1, &size, nullptr, &desc));
  expect_success(gradjit_elu_backward_create(factory, 1, 1, 0, desc, &kernel));
  const std::vector<float> dst(size, 1);
  const std::vector<float> g(size, 2);
  std::vector<float> out(size);
  const gradjit_elu_backward_args args = {
      .src = nullptr, .dst = dst.data(), .diff_dst = g.data(), .diff_src = out.data()};
  expect_success(gradjit_elu_backward_run(kernel, &args, executor));
  EXPECT_EQ(out, g);
}

TEST_F(CApi, RunsOnAnExecutorOfTheCaller) {
  OwnThreads own;
  gradjit_executor executor = own.executor();
  run_large(factory_, &executor);
  EXPECT_GT(own.tasks, 1);

  OwnThreads of_factory;
  Options options;
  expect_success(gradjit_factory_options_create(&options));
  const gradjit_executor factory_executor = of_factory.executor();
  expect_success(gradjit_factory_options_set_executor(options, &factory_executor));
  Factory factory;
  expect_success(gradjit_factory_create(options, &factory));
  run_large(factory, nullptr);
  EXPECT_GT(of_factory.tasks, 1);

  of_factory.tasks = 0;
  of_factory.threads = -5;  // counts as 1
  run_large(factory, nullptr);
  EXPECT_LE(of_factory.tasks, 1);

  executor.concurrency = nullptr;
  const gradjit_elu_backward_args args = {
      .src = x_.data(), .dst = nullptr, .diff_dst = g_.data(), .diff_src = out_.data()};
  expect_error(gradjit_elu_backward_run(elu_, &args, &executor),
               "executor->concurrency is null, expected a function");
  executor = own.executor();
  executor.parallel_for = nullptr;
  expect_error(gradjit_factory_options_set_executor(options, &executor),
               "executor->parallel_for is null, expected a function");
}

TEST_F(CApi, ShippedExecutorsRunEachTaskOnce) {
  for (const gradjit_executor* executor : {gradjit_serial_executor(), gradjit_openmp_executor()}) {
    EXPECT_GE(executor->concurrency(executor->self), 1);
    std::vector<int> counts(100);
    executor->parallel_for(
        executor->self, counts.size(),
        [](void* context, std::size_t index) { ++(*static_cast<std::vector<int>*>(context))[index]; },
        &counts);
    EXPECT_EQ(counts, std::vector<int>(100, 1));
  }
  EXPECT_EQ(gradjit_serial_executor()->concurrency(nullptr), 1);
}

TEST_F(CApi, OptionsReachTheFactory) {
  Options options;
  expect_success(gradjit_factory_options_create(&options));
  expect_success(gradjit_factory_options_set_max_isa(options, GRADJIT_PORTABLE));
  expect_success(gradjit_factory_options_set_cache_capacity(options, 1));
  Factory factory;
  expect_success(gradjit_factory_create(options, &factory));
  gradjit_isa isa = -1;
  expect_success(gradjit_factory_isa(factory, &isa));
  EXPECT_EQ(isa, GRADJIT_PORTABLE);

  CKernel first;
  CKernel again;
  CKernel other;
  expect_success(gradjit_elu_backward_create(factory, 1, 0, 0, desc_, &first));
  expect_success(gradjit_elu_backward_create(factory, 1, 0, 0, desc_, &again));
  expect_success(gradjit_elu_backward_create(factory, 2, 0, 0, desc_, &other));
  std::array<std::uint64_t, GRADJIT_STAT_COUNT + 1> stats;
  stats.fill(99);
  expect_success(gradjit_factory_stats(factory, stats.data(), stats.size()));
  EXPECT_EQ(stats[GRADJIT_STAT_HITS], 1U);
  EXPECT_EQ(stats[GRADJIT_STAT_MISSES], 2U);
  EXPECT_EQ(stats[GRADJIT_STAT_EVICTIONS], 1U);
  EXPECT_EQ(stats[GRADJIT_STAT_KERNELS], 1U);
  EXPECT_EQ(stats[GRADJIT_STAT_COUNT], 0U) << "a counter that this version does not have";
  stats.fill(99);
  expect_success(gradjit_factory_stats(factory, stats.data(), 1));
  EXPECT_EQ(stats[1], 99U) << "behind the count";

  std::array<std::uint64_t, GRADJIT_STAT_COUNT> generated;
  expect_success(gradjit_factory_stats(factory_, generated.data(), generated.size()));
  const bool generates = KernelFactory().isa() != Isa::portable;
  EXPECT_EQ(generated[GRADJIT_STAT_EMISSIONS], 2U);
  EXPECT_EQ(generated[GRADJIT_STAT_CODE_BYTES] > 0, generates);

  // Null options are the defaults, whatever the process-wide factory was asked before.
  Factory shared;
  Factory shared_again;
  expect_success(gradjit_factory_shared(&shared));
  expect_success(gradjit_factory_shared(&shared_again));
  CKernel of_shared;
  expect_success(gradjit_elu_backward_create(shared, 1, 0, 0, desc_, &of_shared));
  expect_success(gradjit_factory_stats(shared_again, stats.data(), GRADJIT_STAT_COUNT));
  EXPECT_EQ(stats[GRADJIT_STAT_MISSES], KernelFactory::shared().stats().misses);
  EXPECT_GE(stats[GRADJIT_STAT_MISSES], 1U);
}

TEST_F(CApi, KernelsOutliveTheirFactoryAndCopies) {
  Desc desc;
  CKernel copy;
  std::string name;
  {
    Factory factory;
    CKernel kernel;
    constexpr std::int64_t size = 6;
    expect_success(gradjit_tensor_desc_create(GRADJIT_F32, 1, &size, nullptr, &desc));
    expect_success(gradjit_factory_create(nullptr, &factory));
    expect_success(gradjit_elu_backward_create(factory, 0.5F, 0, 0, desc, &kernel));
    expect_success(gradjit_kernel_copy(kernel, &copy));
    const char* text = nullptr;
    expect_success(gradjit_kernel_name(kernel, &text));
    name = text;
  }
  const char* text = nullptr;
  expect_success(gradjit_kernel_name(copy, &text));
  EXPECT_EQ(text, name);
  const auto cpp = KernelFactory().elu_backward({.alpha = 0.5F, .use_dst = false}, {DataType::f32, {6}});
  EXPECT_EQ(text, cpp.name());
  gradjit_isa isa = -1;
  expect_success(gradjit_kernel_isa(copy, &isa));
  EXPECT_EQ(isa, static_cast<gradjit_isa>(cpp.isa()));
  const std::uint8_t* bytes = nullptr;
  std::size_t size = 99;
  expect_success(gradjit_kernel_code(copy, &bytes, &size));
  ASSERT_EQ(size, cpp.code().size());
  EXPECT_TRUE(size == 0 || std::memcmp(bytes, cpp.code().data(), size) == 0);

  const gradjit_elu_backward_args args = {
      .src = x_.data(), .dst = nullptr, .diff_dst = g_.data(), .diff_src = out_.data()};
  expect_success(gradjit_elu_backward_run(copy, &args, nullptr));
  EXPECT_EQ(out_, expected_elu(false));
}

}  // namespace
}  // namespace gradjit::test
