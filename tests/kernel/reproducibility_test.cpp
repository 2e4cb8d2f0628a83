// The same values give the same bits, however they are computed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/executors.hpp"
#include "tests/support/kernel_case.hpp"

namespace gradjit::test {
namespace {

const std::vector<Dims>& large_shapes() {
  static const std::vector<Dims> shapes{{70000, 10},    {400, 1000},  {3, 200000},
                                        {2, 131072, 3}, {8, 81, 873}, {5, 64, 49, 21}};
  return shapes;
}

std::vector<float> run_log_softmax(const Dims& dims, std::int64_t axis, const Inputs& inputs,
                                   Executor& executor) {
  std::vector<float> out(inputs.diff_dst.size());
  const auto kernel = KernelFactory::shared().log_softmax_backward({.axis = axis}, {DataType::f32, dims});
  kernel.run({.diff_dst = inputs.diff_dst.data(), .dst = inputs.activation.data(), .diff_src = out.data()},
             executor);
  return out;
}

TEST(Reproducibility, ThreadsDoNotMatter) {
  std::mt19937 random(5);
  for (const Dims& dims : large_shapes()) {
    const std::int64_t axis = 1;
    KernelCase c{.is_elu = false, .dims = dims, .axis = axis, .special_one_in = 0};
    const Inputs inputs = random_inputs(c, random);
    ClaimedThreads one(1);
    const auto expected = run_log_softmax(dims, axis, inputs, one);
    for (const int threads : {2, 3, 7, 64}) {
      ClaimedThreads executor(threads);
      const auto actual = run_log_softmax(dims, axis, inputs, executor);
      EXPECT_GT(executor.most_tasks(), 1U) << text_of(c);
      EXPECT_EQ(std::memcmp(expected.data(), actual.data(), 4 * actual.size()), 0)
          << text_of(c) << " with " << threads << " threads";
    }
  }
}

/// Copies of the same elements at any distance from an aligned address.
TEST(Reproducibility, AlignmentDoesNotMatter) {
  std::mt19937 random(6);
  for (const bool is_elu : {true, false}) {
    for (const std::int64_t length : {20, 200}) {
      KernelCase c{.is_elu = is_elu, .dims = {5, length}, .special_one_in = 30};
      const Inputs inputs = random_inputs(c, random);
      const auto expected = run(c, inputs, Isa::portable, GuardedBuffer::Guard::after);
      const std::size_t bytes = 4 * expected.size();
      for (const Isa isa : emitted_isas()) {
        for (std::size_t offset = 0; offset < 64; ++offset) {
          std::vector<std::byte> x(bytes + 128);
          std::vector<std::byte> g(bytes + 128);
          std::vector<std::byte> out(bytes + 128);
          std::memcpy(x.data() + offset, inputs.activation.data(), bytes);
          std::memcpy(g.data() + (offset * 7) % 64, inputs.diff_dst.data(), bytes);
          std::byte* to = out.data() + (offset * 13) % 64;
          if (is_elu) {
            factory_of(isa)
                .elu_backward({.alpha = c.alpha, .use_dst = false}, {c.dtype, c.dims})
                .run({.src = x.data() + offset, .diff_dst = g.data() + (offset * 7) % 64, .diff_src = to});
          } else {
            factory_of(isa)
                .log_softmax_backward({}, {c.dtype, c.dims})
                .run({.diff_dst = g.data() + (offset * 7) % 64, .dst = x.data() + offset, .diff_src = to});
          }
          std::vector<std::uint32_t> actual(expected.size());
          std::memcpy(actual.data(), to, bytes);
          const auto found = difference(c, inputs, expected, actual);
          ASSERT_FALSE(found) << text_of(c) << " offset " << offset << ": " << found.value_or("");
        }
      }
    }
  }
}

/// Of n equal elements, all results are equal: no place in a vector is special.
TEST(Reproducibility, PlaceInTheVectorDoesNotMatter) {
  for (const DataType dtype : {DataType::f32, DataType::bf16, DataType::f16}) {
    for (const float value : {-0.7F, -87.0F, -3.3F}) {
      std::uint32_t first = 0;
      for (std::int64_t n = 1; n <= 67; ++n) {
        KernelCase c{.is_elu = true, .dtype = dtype, .dims = {n}, .alpha = 1.3F};
        const auto size = static_cast<std::size_t>(n);
        const Inputs inputs{std::vector(size, encode(dtype, value)), std::vector(size, encode(dtype, 1.7F))};
        expect_same_bits(c, inputs);
        const auto results = run(c, inputs, Isa::portable, GuardedBuffer::Guard::after);
        first = n == 1 ? results[0] : first;
        for (const std::uint32_t result : results) {
          ASSERT_EQ(result, first) << text_of(c);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gradjit::test
