// The same values give the same bits, however they are computed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/executors.hpp"
#include "tests/support/kernel_case.hpp"
#include "tests/support/strided_case.hpp"

namespace gradjit::test {
namespace {

constexpr std::array all_types{DataType::f32, DataType::bf16, DataType::f16};

StridedCase dense_case(bool is_elu, DataType dtype, const Dims& dims, std::int64_t axis) {
  StridedCase c{.is_elu = is_elu, .dtype = dtype, .dims = dims, .axis = axis, .use_dst = false, .seed = 5};
  const Dims strides = dense_strides(dims);
  c.strides = {strides, strides, strides};
  return c;
}

/// However many threads the work is cut for, the result is that of the portable kernel, one line at a time.
TEST(Reproducibility, ThreadsDoNotMatter) {
  Factories factories;
  factories.push_back(std::make_unique<KernelFactory>());
  const std::vector<Dims> shapes{{70000, 10},    {400, 1000},  {3, 200000},
                                 {2, 131072, 3}, {8, 81, 873}, {5, 64, 49, 21}};
  for (const Dims& dims : shapes) {
    for (const bool is_elu : {false, true}) {
      StridedCase c = dense_case(is_elu, DataType::f32, dims, 1);
      c.special_one_in = 0;
      for (const int threads : {1, 2, 3, 7, 64}) {
        ClaimedThreads executor(threads);
        ASSERT_EQ(difference(c, factories, executor), "") << text_of(c) << " with " << threads << " threads";
        EXPECT_EQ(executor.most_tasks() > 1, threads > 1) << text_of(c);
      }
    }
  }
}

/// Strides by which dims lie in memory in the given order, outermost first.
Dims strides_in_order(const Dims& dims, const std::array<std::size_t, 3>& order) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= dims[order[i]];
  }
  return strides;
}

/// The tensors' dims in any order in memory, the same for all or one for each.
TEST(Reproducibility, MemoryOrdersDoNotMatter) {
  constexpr std::array<std::array<std::size_t, 3>, 6> orders{
      {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}}};
  const Factories factories = all_factories();
  ClaimedThreads threads(3);
  for (const Dims& dims : {Dims{16, 40, 52}, Dims{40, 20, 70}}) {
    for (std::size_t i = 0; i < 4 * 3 * 6; ++i) {
      const std::size_t first = i % 6;
      const std::size_t apart = i / 6 % 3;  // 0: all alike
      const auto kind = static_cast<std::int64_t>(i / 18);
      StridedCase c = dense_case(kind == 3, all_types[i % 3], dims, kind % 3);
      c.strides = {strides_in_order(dims, orders[first]), strides_in_order(dims, orders[(first + apart) % 6]),
                   strides_in_order(dims, orders[(first + 2 * apart) % 6])};
      ASSERT_EQ(difference(c, factories, threads), "") << text_of(c);
      if (apart == 0) {
        c.sharing = Sharing::in_place;
        ASSERT_EQ(difference(c, factories, serial_executor()), "") << text_of(c);
      }
    }
  }
}

/// Copies of the same elements at any distance from an aligned address.
TEST(Reproducibility, AlignmentDoesNotMatter) {
  const Factories factories = all_factories();
  for (const DataType dtype : all_types) {
    for (const bool is_elu : {true, false}) {
      for (const std::int64_t length : {20, 200}) {
        for (std::size_t offset = 0; offset < 64; ++offset) {
          StridedCase c = dense_case(is_elu, dtype, {5, length}, 1);
          c.misalignment = {offset, offset * 7 % 64, offset * 13 % 64};
          ASSERT_EQ(difference(c, factories, serial_executor()), "") << text_of(c);
        }
      }
    }
  }
}

/// Of n equal elements, all results are equal: no place in a vector is special.
TEST(Reproducibility, PlaceInTheVectorDoesNotMatter) {
  for (const DataType dtype : all_types) {
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
