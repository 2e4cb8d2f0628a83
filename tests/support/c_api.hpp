#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/gradjit.h>
#include <gradjit/gradjit.hpp>

namespace gradjit::test {

/// Ends a handle with its scope.
template <typename T, void (*destroy)(T*)>
class Handle {
 public:
  Handle() = default;
  ~Handle() { destroy(value_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  operator T*() const { return value_; }
  T** operator&() { return &value_; }

 private:
  T* value_ = nullptr;
};

using Options = Handle<gradjit_factory_options, gradjit_factory_options_destroy>;
using Factory = Handle<gradjit_factory, gradjit_factory_destroy>;
using Desc = Handle<gradjit_tensor_desc, gradjit_tensor_desc_destroy>;
using CKernel = Handle<gradjit_kernel, gradjit_kernel_destroy>;

inline void expect_success(gradjit_status status) {
  EXPECT_EQ(status, GRADJIT_SUCCESS) << gradjit_status_name(status) << ": " << gradjit_last_error();
}

inline void expect_error(gradjit_status status, const std::string& message) {
  EXPECT_EQ(status, GRADJIT_INVALID_ARGUMENT) << message;
  EXPECT_EQ(gradjit_last_error(), message);
}

/// What the C++ interface says.
[[nodiscard]] inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class CApi : public testing::Test {
 protected:
  CApi() {
    expect_success(gradjit_factory_create(nullptr, &factory_));
    constexpr std::array<std::int64_t, 2> dims = {2, 3};
    expect_success(gradjit_tensor_desc_create(GRADJIT_F32, 2, dims.data(), nullptr, &desc_));
    expect_success(gradjit_elu_backward_create(factory_, 0.5F, 0, 0, desc_, &elu_));
    expect_success(gradjit_log_softmax_backward_create(factory_, 1, 0, desc_, &log_softmax_));
  }

  /// What C++ makes of the same inputs, dense.
  [[nodiscard]] std::vector<float> expected_elu(bool use_dst) const {
    std::vector<float> result(6);
    const auto kernel =
        KernelFactory().elu_backward({.alpha = 0.5F, .use_dst = use_dst}, {DataType::f32, {2, 3}});
    EluBackwardArgs args{.diff_dst = g_.data(), .diff_src = result.data()};
    (use_dst ? args.dst : args.src) = x_.data();
    kernel.run(args);
    return result;
  }

  [[nodiscard]] std::vector<float> expected_log_softmax() const {
    std::vector<float> result(6);
    KernelFactory()
        .log_softmax_backward({.axis = 1}, {DataType::f32, {2, 3}})
        .run({.diff_dst = g_.data(), .dst = x_.data(), .diff_src = result.data()});
    return result;
  }

  Factory factory_;
  Desc desc_;
  CKernel elu_;
  CKernel log_softmax_;
  std::vector<float> x_ = {1, -1, 0, 100, -0.25F, -3};
  std::vector<float> g_ = {0.5F, 2, -3, 4, 5, 6};
  std::vector<float> out_ = std::vector<float>(6);
};

}  // namespace gradjit::test
