// What gradjit.h says of wrong calls, and its names.
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/gradjit.h>
#include <gradjit/gradjit.hpp>

#include "src/c_api/guard.hpp"
#include "tests/support/c_api.hpp"

namespace gradjit::test {
namespace {

TEST(CApiStatus, IsThatOfTheError) {
  for (const auto& [code, status] : {std::pair{ErrorCode::invalid_argument, GRADJIT_INVALID_ARGUMENT},
                                     {ErrorCode::unsupported, GRADJIT_UNSUPPORTED},
                                     {ErrorCode::out_of_memory, GRADJIT_OUT_OF_MEMORY},
                                     {ErrorCode::code_memory_denied, GRADJIT_CODE_MEMORY_DENIED},
                                     {ErrorCode::internal, GRADJIT_INTERNAL}}) {
    const std::string why = "why " + std::to_string(status);
    EXPECT_EQ(detail::guarded([&] { throw Error(code, why); }), status);
    EXPECT_EQ(gradjit_last_error(), why);
  }
}

TEST(CApiNames, AreTheOnesOfCpp) {
  EXPECT_STREQ(gradjit_version(), version);
  for (const auto dtype : {DataType::f32, DataType::bf16, DataType::f16}) {
    const auto value = static_cast<gradjit_data_type>(dtype);
    EXPECT_EQ(gradjit_data_type_name(value), name_of(dtype));
    gradjit_data_type parsed = -1;
    expect_success(gradjit_parse_data_type(gradjit_data_type_name(value), &parsed));
    EXPECT_EQ(parsed, value);
  }
  for (const auto isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_bf16}) {
    const auto value = static_cast<gradjit_isa>(isa);
    EXPECT_EQ(gradjit_isa_name(value), name_of(isa));
    gradjit_isa parsed = -1;
    expect_success(gradjit_parse_isa(gradjit_isa_name(value), &parsed));
    EXPECT_EQ(parsed, value);
  }
  for (const std::int32_t wrong : {-1, 3, 256}) EXPECT_STREQ(gradjit_data_type_name(wrong), "invalid");
  for (const std::int32_t wrong : {-1, 4, 256}) EXPECT_STREQ(gradjit_isa_name(wrong), "invalid");
  EXPECT_STREQ(gradjit_status_name(GRADJIT_SUCCESS), "success");
  EXPECT_STREQ(gradjit_status_name(GRADJIT_INVALID_ARGUMENT), "invalid_argument");
  EXPECT_STREQ(gradjit_status_name(GRADJIT_UNSUPPORTED), "unsupported");
  EXPECT_STREQ(gradjit_status_name(GRADJIT_OUT_OF_MEMORY), "out_of_memory");
  EXPECT_STREQ(gradjit_status_name(GRADJIT_CODE_MEMORY_DENIED), "code_memory_denied");
  EXPECT_STREQ(gradjit_status_name(GRADJIT_INTERNAL), "internal");
  EXPECT_STREQ(gradjit_status_name(-1), "invalid");

  gradjit_data_type dtype = 7;
  expect_error(gradjit_parse_data_type("f64", &dtype), message_of([] { (void)parse_data_type("f64"); }));
  EXPECT_EQ(dtype, 7) << "an output of a call that failed";
  gradjit_isa isa = 7;
  expect_error(gradjit_parse_isa("sse", &isa), message_of([] { (void)parse_isa("sse"); }));
  EXPECT_EQ(isa, 7);
}

TEST_F(CApi, MessagesAreThoseOfCpp) {
  CKernel kernel;
  KernelFactory factory;
  const TensorDesc desc(DataType::f32, {2, 3});
  for (const float alpha : {-1.0F, std::numeric_limits<float>::quiet_NaN()}) {
    expect_error(gradjit_elu_backward_create(factory_, alpha, 1, 0, desc_, &kernel),
                 message_of([&] { (void)factory.elu_backward({.alpha = alpha}, desc); }));
  }
  for (const std::int64_t axis : {std::int64_t{2}, std::int64_t{-3}, std::int64_t{1} << 32}) {
    expect_error(gradjit_log_softmax_backward_create(factory_, axis, 0, desc_, &kernel),
                 message_of([&] { (void)factory.log_softmax_backward({.axis = axis}, desc); }));
  }
  constexpr std::array<std::int64_t, 2> negative = {2, -3};
  Desc bad;
  expect_success(gradjit_tensor_desc_create(GRADJIT_F32, 2, negative.data(), nullptr, &bad));
  expect_error(gradjit_elu_backward_create(factory_, 1, 1, 0, bad, &kernel), message_of([&] {
                 (void)factory.elu_backward({.alpha = 1}, {DataType::f32, {2, -3}});
               }));
  EXPECT_EQ(static_cast<gradjit_kernel*>(kernel), nullptr);

  const gradjit_elu_backward_args args = {
      .src = x_.data(), .dst = nullptr, .diff_dst = nullptr, .diff_src = out_.data()};
  const auto cpp = factory.elu_backward({.alpha = 1, .use_dst = false}, desc);
  expect_error(gradjit_elu_backward_run(elu_, &args, nullptr),
               message_of([&] { cpp.run({.src = x_.data(), .diff_src = out_.data()}); }));
}

TEST_F(CApi, CapAboveTheCpuIsUnsupported) {
  if (KernelFactory().isa() == Isa::avx512_bf16) GTEST_SKIP() << "this CPU has them all";
  Options options;
  expect_success(gradjit_factory_options_create(&options));
  expect_success(gradjit_factory_options_set_max_isa(options, GRADJIT_AVX512_BF16));
  Factory factory;
  EXPECT_EQ(gradjit_factory_create(options, &factory), GRADJIT_UNSUPPORTED);
  EXPECT_EQ(gradjit_last_error(), message_of([] { KernelFactory({.max_isa = Isa::avx512_bf16}); }));
}

TEST_F(CApi, WrongValuesAreNamed) {
  Desc desc;
  CKernel kernel;
  Options options;
  expect_success(gradjit_factory_options_create(&options));
  constexpr std::array<std::int64_t, 13> dims = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (const std::int32_t dtype : {-1, 3, 256}) {
    expect_error(gradjit_tensor_desc_create(dtype, 1, dims.data(), nullptr, &desc),
                 "dtype is " + std::to_string(dtype) + ", expected f32, bf16 or f16");
  }
  for (const std::int32_t rank : {-1, 13}) {
    expect_error(gradjit_tensor_desc_create(GRADJIT_F32, rank, dims.data(), nullptr, &desc),
                 "rank is " + std::to_string(rank) + ", expected 0 to 12");
  }
  expect_error(gradjit_tensor_desc_create(GRADJIT_F32, 2, nullptr, nullptr, &desc),
               "dims is null, expected 2 sizes");
  expect_success(gradjit_tensor_desc_create(GRADJIT_F32, 12, dims.data(), nullptr, &desc));
  for (const std::int32_t isa : {-1, 4, 256}) {
    expect_error(gradjit_factory_options_set_max_isa(options, isa),
                 "max_isa is " + std::to_string(isa) + ", expected portable, avx2, avx512 or avx512_bf16");
  }
  expect_error(gradjit_elu_backward_create(factory_, 1, 2, 0, desc_, &kernel),
               "use_dst is 2, expected 0 or 1");
  expect_error(gradjit_elu_backward_create(factory_, 1, 0, -1, desc_, &kernel),
               "in_place is -1, expected 0 or 1");
  expect_error(gradjit_log_softmax_backward_create(factory_, 1, 7, desc_, &kernel),
               "in_place is 7, expected 0 or 1");
  const gradjit_elu_backward_args args = {};
  expect_error(gradjit_elu_backward_run(log_softmax_, &args, nullptr),
               "kernel is a log_softmax_backward kernel, expected an elu_backward kernel");
  const gradjit_log_softmax_backward_args log_softmax_args = {};
  expect_error(gradjit_log_softmax_backward_run(elu_, &log_softmax_args, nullptr),
               "kernel is an elu_backward kernel, expected a log_softmax_backward kernel");
}

TEST_F(CApi, NullArgumentsAreNamed) {
  const auto null = [](gradjit_status status, const std::string& name) {
    EXPECT_EQ(status, GRADJIT_INVALID_ARGUMENT) << name;
    EXPECT_TRUE(std::string(gradjit_last_error()).starts_with(name + " is null, expected "))
        << gradjit_last_error();
  };
  Options options;
  CKernel kernel;
  expect_success(gradjit_factory_options_create(&options));
  std::int32_t value = 0;
  null(gradjit_parse_data_type(nullptr, &value), "name");
  null(gradjit_parse_data_type("f32", nullptr), "dtype");
  null(gradjit_parse_isa(nullptr, &value), "name");
  null(gradjit_parse_isa("avx2", nullptr), "isa");
  null(gradjit_factory_options_create(nullptr), "options");
  null(gradjit_factory_options_set_max_isa(nullptr, GRADJIT_AVX2), "options");
  null(gradjit_factory_options_set_cache_capacity(nullptr, 1), "options");
  null(gradjit_factory_options_set_executor(nullptr, gradjit_serial_executor()), "options");
  null(gradjit_factory_options_set_executor(options, nullptr), "executor");
  null(gradjit_factory_create(options, nullptr), "factory");
  null(gradjit_factory_shared(nullptr), "factory");
  null(gradjit_factory_isa(nullptr, &value), "factory");
  null(gradjit_factory_isa(factory_, nullptr), "isa");
  std::uint64_t counter = 0;
  null(gradjit_factory_stats(nullptr, &counter, 1), "factory");
  null(gradjit_factory_stats(factory_, nullptr, 1), "values");
  null(gradjit_tensor_desc_create(GRADJIT_F32, 0, nullptr, nullptr, nullptr), "desc");
  const gradjit_elu_backward_tensors tensors = {};
  const gradjit_log_softmax_backward_tensors log_softmax_tensors = {};
  null(gradjit_elu_backward_create(nullptr, 1, 1, 0, desc_, &kernel), "factory");
  null(gradjit_elu_backward_create(factory_, 1, 1, 0, nullptr, &kernel), "desc");
  null(gradjit_elu_backward_create(factory_, 1, 1, 0, desc_, nullptr), "kernel");
  null(gradjit_elu_backward_create_strided(nullptr, 1, 1, 0, &tensors, &kernel), "factory");
  null(gradjit_elu_backward_create_strided(factory_, 1, 1, 0, nullptr, &kernel), "tensors");
  null(gradjit_elu_backward_create_strided(factory_, 1, 1, 0, &tensors, nullptr), "kernel");
  null(gradjit_log_softmax_backward_create(nullptr, 1, 0, desc_, &kernel), "factory");
  null(gradjit_log_softmax_backward_create(factory_, 1, 0, nullptr, &kernel), "desc");
  null(gradjit_log_softmax_backward_create(factory_, 1, 0, desc_, nullptr), "kernel");
  null(gradjit_log_softmax_backward_create_strided(nullptr, 1, 0, &log_softmax_tensors, &kernel), "factory");
  null(gradjit_log_softmax_backward_create_strided(factory_, 1, 0, nullptr, &kernel), "tensors");
  null(gradjit_log_softmax_backward_create_strided(factory_, 1, 0, &log_softmax_tensors, nullptr), "kernel");
  const gradjit_elu_backward_args args = {};
  const gradjit_log_softmax_backward_args log_softmax_args = {};
  null(gradjit_elu_backward_run(nullptr, &args, nullptr), "kernel");
  null(gradjit_elu_backward_run(elu_, nullptr, nullptr), "args");
  null(gradjit_log_softmax_backward_run(nullptr, &log_softmax_args, nullptr), "kernel");
  null(gradjit_log_softmax_backward_run(log_softmax_, nullptr, nullptr), "args");
  const char* name = nullptr;
  const std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  null(gradjit_kernel_copy(nullptr, &kernel), "kernel");
  null(gradjit_kernel_copy(elu_, nullptr), "copy");
  null(gradjit_kernel_name(nullptr, &name), "kernel");
  null(gradjit_kernel_name(elu_, nullptr), "name");
  null(gradjit_kernel_isa(nullptr, &value), "kernel");
  null(gradjit_kernel_isa(elu_, nullptr), "isa");
  null(gradjit_kernel_code(nullptr, &bytes, &size), "kernel");
  null(gradjit_kernel_code(elu_, nullptr, &size), "bytes");
  null(gradjit_kernel_code(elu_, &bytes, nullptr), "size");
  EXPECT_EQ(bytes, nullptr) << "an output of a call that failed";
  gradjit_factory_options_destroy(nullptr);
  gradjit_factory_destroy(nullptr);
  gradjit_tensor_desc_destroy(nullptr);
  gradjit_kernel_destroy(nullptr);
}

TEST(CApiLastError, IsPerThreadAndStaysUntilTheNextError) {
  std::thread([] {
    EXPECT_STREQ(gradjit_last_error(), "") << "before any error of the thread";
    gradjit_isa isa = 0;
    EXPECT_NE(gradjit_parse_isa("first", &isa), GRADJIT_SUCCESS);
    const std::string first = gradjit_last_error();
    EXPECT_NE(first.find("\"first\""), std::string::npos);
    std::thread([] {
      EXPECT_STREQ(gradjit_last_error(), "");
      gradjit_isa unused = 0;
      EXPECT_NE(gradjit_parse_isa("second", &unused), GRADJIT_SUCCESS);
      EXPECT_NE(std::string(gradjit_last_error()).find("\"second\""), std::string::npos);
    }).join();
    EXPECT_EQ(gradjit_last_error(), first);
    expect_success(gradjit_parse_isa("avx2", &isa));
    EXPECT_EQ(gradjit_last_error(), first);
  }).join();
}

TEST(CApiLastError, IsCutWhereItIsTooLong) {
  gradjit_isa isa = 0;
  EXPECT_EQ(gradjit_parse_isa(std::string(5000, 'x').c_str(), &isa), GRADJIT_INVALID_ARGUMENT);
  EXPECT_EQ(std::strlen(gradjit_last_error()), 1023U);
}

TEST_F(CApi, ExceptionsOfAnExecutorBecomeAStatus) {
  gradjit_executor executor = *gradjit_serial_executor();
  executor.concurrency = [](void*) -> std::int32_t { throw std::runtime_error("from the pool"); };
  constexpr std::int64_t size = 1 << 20;
  Desc desc;
  CKernel kernel;
  expect_success(gradjit_tensor_desc_create(GRADJIT_F32, 1, &size, nullptr, &desc));
  expect_success(gradjit_elu_backward_create(factory_, 1, 0, 0, desc, &kernel));
  std::vector<float> data(size);
  const gradjit_elu_backward_args args = {
      .src = data.data(), .dst = nullptr, .diff_dst = data.data(), .diff_src = data.data()};
  EXPECT_EQ(gradjit_elu_backward_run(kernel, &args, &executor), GRADJIT_INTERNAL);
  EXPECT_STREQ(gradjit_last_error(), "from the pool");
  executor.concurrency = [](void*) -> std::int32_t { throw 7; };
  EXPECT_EQ(gradjit_elu_backward_run(kernel, &args, &executor), GRADJIT_INTERNAL);
  EXPECT_STREQ(gradjit_last_error(), "something was thrown that is no std::exception");
  executor.concurrency = [](void*) -> std::int32_t { throw std::bad_alloc(); };
  EXPECT_EQ(gradjit_elu_backward_run(kernel, &args, &executor), GRADJIT_OUT_OF_MEMORY);
  EXPECT_STREQ(gradjit_last_error(), "no memory left");
}

}  // namespace
}  // namespace gradjit::test
