#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <gradjit/error.hpp>

#include "src/plan/request.hpp"

namespace gradjit::detail {
namespace {

constexpr auto f32 = DataType::f32;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// What a request is refused with; empty if it isn't.
std::string refusal(const std::function<Request()>& request) {
  try {
    (void)request();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
}

std::string elu_refusal(const TensorDesc& desc, float alpha = 1) {
  return refusal([&] { return validated(EluBackward{.alpha = alpha}, desc); });
}

std::string elu_refusal(const EluBackwardTensors& tensors, bool use_dst = true, bool in_place = false) {
  return refusal(
      [&] { return validated(EluBackward{.alpha = 1, .use_dst = use_dst, .in_place = in_place}, tensors); });
}

std::string log_softmax_refusal(const LogSoftmaxBackwardTensors& tensors) {
  return refusal([&] { return validated(LogSoftmaxBackward{}, tensors); });
}

std::string axis_refusal(std::int64_t axis, const Dims& dims) {
  return refusal([&] { return validated(LogSoftmaxBackward{.axis = axis}, TensorDesc(f32, dims)); });
}

TEST(PlanValidate, RefusesWrongAlpha) {
  const TensorDesc desc(f32, {4});
  EXPECT_EQ(elu_refusal(desc, -1), "alpha is -1, expected 0 or more (infinity too)");
  EXPECT_EQ(elu_refusal(desc, -1e-45F), "alpha is -1.4013e-45, expected 0 or more (infinity too)");
  EXPECT_EQ(elu_refusal(desc, std::numeric_limits<float>::quiet_NaN()),
            "alpha is nan, expected 0 or more (infinity too)");
  EXPECT_EQ(elu_refusal(desc, std::numeric_limits<float>::infinity()), "");
  EXPECT_EQ(elu_refusal(desc, 0), "");
}

TEST(PlanValidate, TakesMinusZeroAsZero) {
  const TensorDesc desc(f32, {4});
  EXPECT_EQ(validated(EluBackward{.alpha = -0.0F}, desc).alpha_bits, 0U);
  EXPECT_EQ(validated(EluBackward{.alpha = 1}, desc).alpha_bits, 0x3F800000U);
}

TEST(PlanValidate, RefusesWrongDims) {
  EXPECT_EQ(elu_refusal({f32, Dims(13, 1)}), "desc.dims has 13 entries, expected at most 12");
  EXPECT_EQ(elu_refusal({f32, {4, -3}}), "desc.dims[1] is -3, expected a size >= 0");
  EXPECT_EQ(elu_refusal({f32, {0, -3}}), "desc.dims[1] is -3, expected a size >= 0");
  EXPECT_EQ(elu_refusal({f32, {most, 3}}),
            "desc.dims is (9223372036854775807, 3), expected a product of at most 9223372036854775807 bytes, "
            "with elements of 4");
  EXPECT_EQ(
      elu_refusal({f32, {std::int64_t{1} << 61}}),
      "desc.dims is (2305843009213693952), expected a product of at most 9223372036854775807 bytes, with "
      "elements of 4");
  EXPECT_EQ(elu_refusal({DataType::bf16, {std::int64_t{1} << 61}}), "");
  EXPECT_EQ(elu_refusal({f32, {most, most, 0}}), "");
  EXPECT_EQ(elu_refusal({f32, Dims(12, 1)}), "");
  EXPECT_EQ(elu_refusal({f32, {}}), "");
  EXPECT_EQ(elu_refusal({static_cast<DataType>(7), {4}}), "desc.dtype is 7, expected f32, bf16 or f16");
}

TEST(PlanValidate, RefusesWrongStrides) {
  EXPECT_EQ(elu_refusal({f32, {4, 3}, {1}}),
            "desc.strides has 1 entry, expected 2, one for each of dims, or none for dense row-major");
  EXPECT_EQ(elu_refusal({f32, {}, {1, 2}}),
            "desc.strides has 2 entries, expected 0, one for each of dims, or none for dense row-major");
  EXPECT_EQ(elu_refusal({f32, {4, 3}, {most / 4, 1}}),
            "desc.strides is (2305843009213693951, 1) for dims (4, 3), expected elements that lie less than "
            "9223372036854775807 bytes apart");
  EXPECT_NE(elu_refusal({f32, {2}, {std::numeric_limits<std::int64_t>::min()}}), "");
  EXPECT_EQ(elu_refusal({f32, {1, 3}, {std::numeric_limits<std::int64_t>::min(), 1}}), "");
  EXPECT_EQ(elu_refusal({f32, {0, 3}, {7, 0}}), "");
  EXPECT_EQ(elu_refusal({f32, {0, 3}, {1, most}}), "");
}

TEST(PlanValidate, RefusesAnOutputThatOverlapsItself) {
  EXPECT_EQ(
      elu_refusal({f32, {4, 3}, {0, 1}}),
      "desc.strides is (0, 1) for dims (4, 3) of a result, expected strides that put no two elements in "
      "one place");
  EXPECT_NE(elu_refusal({f32, {4, 3}, {2, 1}}), "");
  EXPECT_NE(elu_refusal({f32, {4, 3}, {1, -1}}), "");
  EXPECT_EQ(elu_refusal({f32, {3, 2}, {2, 3}}), "");
  EXPECT_EQ(elu_refusal({f32, {1, 2}, {0, 3}}), "");
  const TensorDesc dense(f32, {4, 3});
  const TensorDesc broadcast(f32, {4, 3}, {0, 1});
  EXPECT_EQ(elu_refusal({.dst = broadcast, .diff_dst = broadcast, .diff_src = dense}), "");
  EXPECT_EQ(elu_refusal({.dst = dense, .diff_dst = dense, .diff_src = broadcast}).substr(0, 22),
            "diff_src.strides is (0");
  EXPECT_EQ(
      elu_refusal({.dst = dense, .diff_dst = broadcast}, true, true),
      "diff_dst.strides is (0, 1) for dims (4, 3) of a result in place, expected strides that put no two "
      "elements in one place");
}

TEST(PlanValidate, RefusesTensorsThatDisagree) {
  const TensorDesc a(f32, {4, 3});
  const TensorDesc other_dims(f32, {3, 4});
  const TensorDesc other_type(DataType::f16, {4, 3});
  EXPECT_EQ(elu_refusal({.dst = a, .diff_dst = other_dims, .diff_src = a}),
            "diff_dst.dims is (3, 4), expected (4, 3) as dst has");
  EXPECT_EQ(elu_refusal({.src = a, .diff_dst = a, .diff_src = other_type}, false),
            "diff_src.dtype is f16, expected f32 as src has");
  EXPECT_EQ(log_softmax_refusal({.diff_dst = other_type, .dst = a, .diff_src = a}),
            "diff_dst.dtype is f16, expected f32 as dst has");
}

TEST(PlanValidate, SaysWhichTensorIsMissingOrTooMuch) {
  const TensorDesc a(f32, {4});
  EXPECT_EQ(elu_refusal({.diff_dst = a, .diff_src = a}),
            "dst has no description, expected one, because use_dst is true");
  EXPECT_EQ(elu_refusal({.diff_dst = a, .diff_src = a}, false),
            "src has no description, expected one, because use_dst is false");
  EXPECT_EQ(elu_refusal({.src = a, .dst = a, .diff_dst = a, .diff_src = a}),
            "src has a description, expected only dst, because use_dst is true");
  EXPECT_EQ(elu_refusal({.src = a, .diff_dst = a, .diff_src = a}),
            "src has a description, expected only dst, because use_dst is true");
  EXPECT_EQ(elu_refusal({.dst = a, .diff_src = a}), "diff_dst has no description, expected one");
  EXPECT_EQ(elu_refusal({.dst = a, .diff_dst = a}),
            "diff_src has no description, expected one, because in_place is false");
  EXPECT_EQ(elu_refusal({.dst = a, .diff_dst = a, .diff_src = a}, true, true),
            "diff_src has a description, expected none, because in_place is true: diff_dst's holds");
  EXPECT_EQ(log_softmax_refusal({.diff_dst = a, .diff_src = a}), "dst has no description, expected one");
}

TEST(PlanValidate, ChecksTheAxis) {
  EXPECT_EQ(axis_refusal(3, {2, 3, 4}), "axis is 3, expected -3 to 2 for tensors of rank 3");
  EXPECT_EQ(axis_refusal(-4, {2, 3, 4}), "axis is -4, expected -3 to 2 for tensors of rank 3");
  EXPECT_EQ(axis_refusal(1, {}), "axis is 1, expected -1 to 0 for tensors of rank 0");
  EXPECT_EQ(axis_refusal(-2, {}), "axis is -2, expected -1 to 0 for tensors of rank 0");
  EXPECT_EQ(axis_refusal(5, {0}), "axis is 5, expected -1 to 0 for tensors of rank 1");
  for (const std::int64_t axis : {-3, -1, 0, 2}) {
    EXPECT_EQ(axis_refusal(axis, {2, 3, 4}), "");
  }
  EXPECT_EQ(axis_refusal(0, {}), "");
  EXPECT_EQ(axis_refusal(-1, {}), "");
}

}  // namespace
}  // namespace gradjit::detail
