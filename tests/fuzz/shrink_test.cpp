// The shrinker, on faults made up for it, and what else the fuzz test judges and reports by.

#include "tests/fuzz/shrink.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "tests/fuzz/report.hpp"
#include "tests/support/element_bits.hpp"
#include "tests/support/strided_memory.hpp"

namespace gradjit::test {
namespace {

bool has_nan(const StridedCase& c) {
  const auto gradients = StridedMemory(c).elements(1);
  return std::ranges::any_of(gradients, [&c](std::uint32_t bits) { return is_nan(c.dtype, bits); });
}

/// The nth of the cases that fail.
StridedCase failing_case(int n, bool (*fails)(const StridedCase&)) {
  std::mt19937 random(7);
  while (true) {
    const StridedCase c = random_case(random, 2000, {Isa::avx2, Isa::avx512});
    if (fails(c) && n-- == 0) {
      return c;
    }
  }
}

std::string shrunk_text(int n, bool (*fails)(const StridedCase&)) {
  StridedCase smallest = shrunk(failing_case(n, fails), fails);
  EXPECT_TRUE(fails(smallest));
  smallest.seed = 0;
  smallest.special_one_in = 0;
  return text_of(smallest);
}

TEST(Shrink, KeepsWhatTheFaultNeedsAndNothingElse) {
  // A NaN in a row of at least 17 in generated code.
  const auto fails = [](const StridedCase& c) {
    return !c.is_elu && c.isa >= Isa::avx2 && !c.dims.empty() && c.dims[axis_of(c)] >= 17 && has_nan(c);
  };
  for (int n = 0; n < 20; ++n) {
    const std::string text = shrunk_text(n, fails);
    const std::size_t values = text.find(" activation=");
    ASSERT_EQ(
        text.substr(0, values),
        "op=log_softmax_backward dtype=f32 dims=17 activation_strides=1 diff_dst_strides=1 "
        "diff_src_strides=1 "
        "axis=0 alpha=0x1p+0 use_dst=0 sharing=none distance=0 misalignment=0,0,0 seed=0 special_one_in=0 "
        "isa=avx2 threads=1 has_tiny_caches=0")
        << n;
    const StridedCase c = case_from(text);
    EXPECT_EQ(c.values[0], std::vector(17, encode(DataType::f32, 1))) << text;
    EXPECT_EQ(std::ranges::count(c.values[1], encode(DataType::f32, 1)), 16) << text;
  }
}

TEST(Shrink, KeepsStridesThatTheFaultNeeds) {
  const auto fails = [](const StridedCase& c) {
    return c.is_elu && elements_of(c) >= 2 && !c.dims.empty() && c.strides[0].back() < 0;
  };
  for (int n = 0; n < 20; ++n) {
    const StridedCase c = case_from(shrunk_text(n, fails));
    EXPECT_EQ(c.sharing, Sharing::none);
    EXPECT_EQ(elements_of(c), 2) << text_of(c);
    EXPECT_LE(c.dims.size(), 2U) << text_of(c);
    EXPECT_GE(c.strides[0].back(), -2) << text_of(c);
    EXPECT_EQ(c.strides[2], dense_strides(c.dims)) << text_of(c);
  }
}

TEST(Shrink, KeepsSharingAndThreads) {
  const auto fails = [](const StridedCase& c) {
    return c.sharing == Sharing::interleaved && c.threads > 1 && c.alpha == 0 && c.dtype == DataType::f16 &&
           elements_of(c) > 0;
  };
  const StridedCase c = case_from(shrunk_text(0, fails));
  EXPECT_TRUE(c.dims.empty() || (!c.is_elu && c.dims.size() == 1)) << text_of(c);
  EXPECT_EQ(c.threads, 2);
  EXPECT_EQ(c.distance, 1);
}

TEST(Shrink, EndsInTime) {
  int calls = 0;
  (void)shrunk(
      failing_case(0, [](const StridedCase& c) { return elements_of(c) > 1000; }),
      [&calls](const StridedCase&) { return ++calls % 2 == 0; }, 50);
  EXPECT_LE(calls, 50);
  EXPECT_GT(calls, 10);
}

TEST(StridedText, IsReadAsItWasWritten) {
  std::mt19937 random(8);
  for (int i = 0; i < 2000; ++i) {
    StridedCase c = random_case(random, 60);
    if (i % 2 == 0) {
      c.values = values_of(c);
    }
    const StridedCase read = case_from(text_of(c));
    ASSERT_EQ(text_of(read), text_of(c));
    ASSERT_EQ(read.strides, c.strides);
    ASSERT_EQ(read.values, c.values);
  }
  const std::string good = text_of(random_case(random, 60));
  EXPECT_THROW((void)case_from(""), std::runtime_error);
  EXPECT_THROW((void)case_from("nonsense"), std::runtime_error);
  EXPECT_THROW((void)case_from(good.substr(0, good.find(" axis"))), std::runtime_error);
  EXPECT_THROW((void)case_from(good + " threads=many"), std::runtime_error);
}

TEST(Report, ReplaysTheSmallestCaseFromTheShell) {
  // A result that overlaps itself, which the library refuses: a failure without a fault.
  StridedCase c{.dtype = DataType::f16, .dims = {6, 5, 4}, .seed = 3, .threads = 7};
  c.strides = {Dims{20, 4, 1}, Dims{20, 4, 1}, Dims{20, 4, 4}};
  const std::string failure = failure_in_child(c);
  EXPECT_TRUE(failure.starts_with("threw: diff_src.strides is (20, 4, 4)")) << failure;
  const std::string text = report(c, failure);
  const std::size_t start = text.find("replay: ") + 8;
  const std::string command = text.substr(start, text.find('\n', start) - start);
  const int status = std::system((command + " > /dev/null").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1) << text;
  const std::size_t quote = command.find('\'') + 1;
  const StridedCase smallest = case_from(command.substr(quote, command.rfind('\'') - quote));
  EXPECT_EQ(smallest.dims, Dims({2, 2})) << text;
  EXPECT_EQ(smallest.threads, 1) << text;
}

TEST(Report, ReplayTellsGoodFromNonsense) {
  std::mt19937 random(9);
  EXPECT_EQ(replay(text_of(random_case(random, 60))), 0);
  EXPECT_EQ(replay("nonsense"), 2);
}

/// A case of one line with results of one's own.
std::string judged(const StridedCase& c, const std::vector<float>& inputs,
                   const std::vector<float>& gradients, const std::vector<float>& results) {
  const auto bits = [&c](const std::vector<float>& values) {
    std::vector<std::uint32_t> encoded;
    for (const float value : values) {
      encoded.push_back(encode(c.dtype, value));
    }
    return encoded;
  };
  return check_bounds(c, {bits(inputs), bits(gradients)}, bits(results));
}

TEST(StridedBounds, TellGoodFromBad) {
  StridedCase c{.dims = {3}};
  const float at_minus_one = 0x1.78b564p-2F;  // exp(-1)
  EXPECT_EQ(judged(c, {2, -1, -0.0F}, {3, 1, 1}, {3, at_minus_one, 1}), "");
  EXPECT_EQ(judged(c, {2, -1, -0.0F}, {3, 1, 1}, {3, at_minus_one + 0x1p-25F, 1}), "");
  EXPECT_NE(judged(c, {2, -1, -0.0F}, {3, 1, 1}, {3, at_minus_one + 0x1p-23F, 1}), "");
  EXPECT_NE(judged(c, {2, -1, -0.0F}, {3, 1, 1}, {3.0001F, at_minus_one, 1}), "");
  EXPECT_NE(judged(c, {-300, 1, 1}, {-1, 1, 1}, {0.0F, 1, 1}), "") << "the sign of a zero";
  EXPECT_EQ(judged(c, {-300, 1, 1}, {-1, 1, 1}, {-0.0F, 1, 1}), "");
  c.is_elu = false;
  EXPECT_EQ(judged(c, {0, 0, -300}, {1, 2, 4}, {-6, -5, 4}), "");
  EXPECT_NE(judged(c, {0, 0, -300}, {1, 2, 4}, {-6, -5.00001F, 4}), "");
  c.dims = {3, 1};  // Each element a row of its own.
  c.axis = 1;
  EXPECT_EQ(judged(c, {0, 0, -300}, {1, 2, 4}, {0, 0, 4}), "");
}

}  // namespace
}  // namespace gradjit::test
