#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/gradjit.hpp>

#include "tests/support/executors.hpp"

namespace gradjit {
namespace {

constexpr auto f32 = DataType::f32;

KernelFactory& factory() {
  static KernelFactory portable({.max_isa = Isa::portable});
  return portable;
}

EluBackwardKernel elu(const TensorDesc& desc, bool in_place = false, bool use_dst = false) {
  return factory().elu_backward({.alpha = 1, .use_dst = use_dst, .in_place = in_place}, desc);
}

/// What a call is refused with; empty if it isn't.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Memory that a wrong call must leave alone.
struct Buffers {
  std::vector<float> memory = std::vector<float>(256, 1.0F);

  float* at(std::size_t index) { return memory.data() + index; }
  ~Buffers() { EXPECT_EQ(memory, std::vector<float>(256, 1.0F)); }
};

TEST(ExecuteBuffers, RefusesNull) {
  Buffers b;
  const auto kernel = elu({f32, {4, 4}});
  EXPECT_EQ(refusal([&] { kernel.run({.diff_dst = b.at(0), .diff_src = b.at(16)}); }),
            "src is null, expected a buffer of 16 elements");
  EXPECT_EQ(refusal([&] { kernel.run({.src = b.at(0), .diff_src = b.at(16)}); }),
            "diff_dst is null, expected a buffer of 16 elements");
  EXPECT_EQ(refusal([&] { kernel.run({.src = b.at(0), .diff_dst = b.at(16)}); }),
            "diff_src is null, expected a buffer of 16 elements");
  const auto log_softmax = factory().log_softmax_backward({}, {f32, {4, 4}});
  EXPECT_EQ(refusal([&] { log_softmax.run({.diff_dst = b.at(0), .diff_src = b.at(16)}); }),
            "dst is null, expected a buffer of 16 elements");
}

TEST(ExecuteBuffers, RefusesTheWrongOneOfSrcAndDst) {
  Buffers b;
  const std::string with_dst = refusal([&] {
    elu({f32, {4}}, false, true).run({.src = b.at(0), .diff_dst = b.at(8), .diff_src = b.at(16)});
  });
  EXPECT_TRUE(with_dst.starts_with("src is 0x")) << with_dst;
  EXPECT_TRUE(with_dst.ends_with(", expected null and dst instead, because use_dst is true")) << with_dst;
  const std::string with_src = refusal([&] {
    elu({f32, {4}}).run({.dst = b.at(0), .diff_dst = b.at(8), .diff_src = b.at(16)});
  });
  EXPECT_TRUE(with_src.starts_with("dst is 0x")) << with_src;
}

TEST(ExecuteBuffers, RefusesAnotherDiffSrcInPlace) {
  Buffers b;
  const auto kernel = elu({f32, {4}}, true);
  const std::string message =
      refusal([&] { kernel.run({.src = b.at(0), .diff_dst = b.at(8), .diff_src = b.at(16)}); });
  EXPECT_TRUE(contains(message, "diff_src is 0x")) << message;
  EXPECT_TRUE(contains(message, "expected null or diff_dst (0x")) << message;
  // Without elements too: the pointers say that the caller means something else.
  const std::string without_elements = refusal([&] {
    elu({f32, {0}}, true).run({.diff_dst = b.at(8), .diff_src = b.at(16)});
  });
  EXPECT_TRUE(contains(without_elements, "expected null or diff_dst (0x")) << without_elements;
  elu({f32, {0}}, true).run({.diff_dst = b.at(8), .diff_src = b.at(8)});
  std::array<float, 8> memory = {-1, 1, -1, 1, 3, 3, 3, 3};
  kernel.run({.src = memory.data(), .diff_dst = memory.data() + 4, .diff_src = memory.data() + 4});
  EXPECT_EQ(memory[5], 3);
  EXPECT_NEAR(memory[4], 3 * 0.36787944F, 1e-6F);
}

TEST(ExecuteBuffers, NamesBothTensorsThatShareElements) {
  Buffers b;
  const auto kernel = elu({f32, {4, 4}});
  const std::string message =
      refusal([&] { kernel.run({.src = b.at(32), .diff_dst = b.at(64), .diff_src = b.at(33)}); });
  EXPECT_TRUE(message.starts_with("diff_src at 0x")) << message;
  EXPECT_TRUE(contains(message, " shares elements with src at 0x")) << message;
  EXPECT_TRUE(
      contains(refusal([&] { kernel.run({.src = b.at(32), .diff_dst = b.at(65), .diff_src = b.at(64)}); }),
               "shares elements with diff_dst"));
  EXPECT_TRUE(
      contains(refusal([&] {
                 elu({f32, {4, 4}}, true).run({.src = b.at(32), .diff_dst = b.at(33), .diff_src = nullptr});
               }),
               "diff_dst (the result, in place) at 0x"));
  // One byte of one element.
  EXPECT_NE(
      refusal([&] {
        kernel.run({.src = b.at(0), .diff_dst = b.at(64), .diff_src = reinterpret_cast<char*>(b.at(16)) - 1});
      }),
      "");
  // The same pointer, other strides.
  const TensorDesc rows(f32, {4, 4});
  const TensorDesc columns(f32, {4, 4}, {1, 4});
  const auto transposed = factory().elu_backward({.alpha = 1, .use_dst = false},
                                                 {.src = rows, .diff_dst = rows, .diff_src = columns});
  EXPECT_NE(refusal([&] { transposed.run({.src = b.at(32), .diff_dst = b.at(64), .diff_src = b.at(32)}); }),
            "");
}

/// Whatever part of the tensors a kernel does by itself: packed rows, rows, few columns, columns.
TEST(ExecuteBuffers, RefusesSharedElementsWithEveryKernel) {
  std::vector<float> memory(4000, 1.0F);
  float* const m = memory.data();
  for (const Dims& dims : {Dims{4, 10}, Dims{4, 50}, Dims{2, 9, 3}, Dims{2, 9, 12}, Dims{2, 9, 20}}) {
    const auto kernel = factory().log_softmax_backward({.axis = 1}, {f32, dims});
    for (const std::ptrdiff_t shift : {-10, -3, -1, 1, 2, 9}) {
      EXPECT_NE(
          refusal([&] { kernel.run({.diff_dst = m + 2000, .dst = m + 1000, .diff_src = m + 1000 + shift}); }),
          "")
          << kernel.name() << ", " << shift;
    }
  }
}

TEST(ExecuteBuffers, TakesViewsThatInterleave) {
  std::vector<float> memory(64, 1.0F);
  float* m = memory.data();
  // Two column halves of an 8 x 8 matrix; its even and its odd rows; even and odd elements, one backwards.
  elu({f32, {8, 4}, {8, 1}}).run({.src = m, .diff_dst = m, .diff_src = m + 4});
  elu({f32, {4, 8}, {16, 1}}).run({.src = m, .diff_dst = m, .diff_src = m + 8});
  const TensorDesc up(f32, {32}, {2});
  factory()
      .elu_backward({.alpha = 1, .use_dst = false},
                    {.src = up, .diff_dst = up, .diff_src = TensorDesc(f32, {32}, {-2})})
      .run({.src = m, .diff_dst = m, .diff_src = m + 63});
  EXPECT_NE(refusal([&] {
              elu({f32, {8, 4}, {8, 1}}).run({.src = m, .diff_dst = m, .diff_src = m + 3});
            }),
            "");
}

TEST(ExecuteBuffers, TouchesNothingWithoutElements) {
  for (const Dims& dims : {Dims{0}, Dims{3, 0}, Dims{0, 3}, Dims{2, 0, 5}}) {
    EXPECT_EQ(refusal([&] {
                elu({f32, dims}).run({});
                elu({f32, dims}, true).run({});
                const auto axis = static_cast<std::int64_t>(dims.size()) - 1;
                for (std::int64_t i = 0; i <= axis; ++i) {
                  factory().log_softmax_backward({.axis = i}, {f32, dims}).run({});
                }
              }),
              "");
  }
  EXPECT_FALSE(elu({f32, {0}}).name().empty());
}

TEST(ExecuteBuffers, DoesOneElementOfRankZero) {
  const float src = -1;
  const float g = 2;
  float result = 0;
  elu({f32, {}}).run({.src = &src, .diff_dst = &g, .diff_src = &result});
  EXPECT_NEAR(result, 2 * 0.36787944F, 1e-6F);
  for (const std::int64_t axis : {0, -1}) {
    factory()
        .log_softmax_backward({.axis = axis}, {f32, {}})
        .run({.diff_dst = &g, .dst = &src, .diff_src = &result});
    EXPECT_NEAR(result, 2 - 2 * 0.36787944F, 1e-6F);
  }
}

TEST(ExecuteBuffers, HandlesOutliveTheirFactory) {
  auto other = std::make_unique<KernelFactory>(FactoryOptions{.cache_capacity = 0});
  const auto kernel = other->elu_backward({.alpha = 1, .use_dst = false}, {f32, {1}});
  const Isa isa = other->isa();
  other.reset();
  const auto copy = kernel;
  const float one = 1;
  float result = 0;
  copy.run({.src = &one, .diff_dst = &one, .diff_src = &result});
  EXPECT_EQ(result, 1);
  EXPECT_EQ(copy.isa(), isa);
  EXPECT_EQ(copy.code().empty(), isa == Isa::portable);
}

TEST(ExecuteBuffers, OneKernelServesAllShapesOfElu) {
  KernelFactory counted({.max_isa = Isa::portable});
  (void)counted.elu_backward({.alpha = 1}, {f32, {4}});
  (void)counted.elu_backward({.alpha = 1}, {f32, {64, 192}});
  (void)counted.elu_backward({.alpha = 1}, {f32, {64, 192}, {1, 64}});
  (void)counted.elu_backward({.alpha = 2}, {f32, {4}});
  EXPECT_EQ(counted.stats().hits, 2U);
  EXPECT_EQ(counted.stats().emissions, 2U);
}

TEST(ExecuteBuffers, SmallWorkStaysOnTheCallingThread) {
  test::ClaimedThreads used(4);
  test::ClaimedThreads unused(4);
  KernelFactory with_executor({.max_isa = Isa::portable, .executor = unused});
  for (const std::int64_t size : {1000, 100'000}) {
    std::vector<float> x(static_cast<std::size_t>(size), 1.0F);
    std::vector<float> result(static_cast<std::size_t>(size));
    const auto kernel = with_executor.elu_backward({.alpha = 1, .use_dst = false}, {f32, {size}});
    kernel.run({.src = x.data(), .diff_dst = x.data(), .diff_src = result.data()}, used);
    EXPECT_EQ(result, x);
    EXPECT_EQ(used.calls(), size == 1000 ? 0 : 1);
  }
  EXPECT_EQ(unused.calls(), 0);
}

}  // namespace
}  // namespace gradjit
