// Every operation × type × instruction set × use_dst × in place × size × axis position, each compared bit
// by bit with the portable kernels, in buffers that stand against inaccessible pages at both ends.

#include <algorithm>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/kernel_case.hpp"

namespace gradjit::test {
namespace {

class Matrix : public testing::TestWithParam<std::tuple<DataType, bool>> {
 protected:
  [[nodiscard]] KernelCase start(bool is_elu) const {
    return {.is_elu = is_elu, .dtype = std::get<0>(GetParam()), .in_place = std::get<1>(GetParam())};
  }
  void check(const KernelCase& c) { expect_same_bits(c, random_inputs(c, random_)); }

  std::mt19937 random_{20240229};
};

/// From nothing to three vectors of the widest kind and one element, then some large ones.
std::vector<std::int64_t> sizes() {
  std::vector<std::int64_t> result;
  for (std::int64_t n = 0; n <= 3 * 32 + 1; ++n) {
    result.push_back(n);
  }
  result.insert(result.end(), {127, 128, 129, 1000, 4099, 65536});
  return result;
}

TEST_P(Matrix, EluBackward) {
  for (const std::int64_t n : sizes()) {
    for (const bool use_dst : {false, true}) {
      KernelCase c = start(true);
      c.dims = {n};
      c.use_dst = use_dst;
      check(c);
      c.alpha = 0.37F;
      check(c);
    }
  }
}

TEST_P(Matrix, EluBackwardOfAnyAlpha) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float alpha :
       {0.0F, -0.0F, 0x1p-149F, 1e-40F, 0x1p-126F, 0.01F, 0.5F, 1.0F, 1.5F, 1.6732632F, 2.0F, 3.0F, 100.0F,
        0x1p30F, 3e38F, std::numeric_limits<float>::max(), infinity}) {
    for (const bool use_dst : {false, true}) {
      for (const std::int64_t n : {1, 13, 16, 67, 300}) {
        KernelCase c = start(true);
        c.dims = {n};
        c.alpha = alpha;
        c.use_dst = use_dst;
        c.special_one_in = 3;
        check(c);
      }
    }
  }
}

TEST_P(Matrix, LogSoftmaxBackwardLastAxis) {
  for (const std::int64_t length : sizes()) {
    for (const std::int64_t rows : {1, 3, 16, 21}) {
      if (length * rows > 70000) {
        continue;
      }
      KernelCase c = start(false);
      c.dims = {rows, length};
      c.special_one_in = rows == 3 ? 100 : 0;
      check(c);
    }
  }
}

TEST_P(Matrix, LogSoftmaxBackwardFirstAndMiddleAxis) {
  for (const std::int64_t length : {1, 2, 3, 7, 8, 9, 15, 16, 17, 40, 130}) {
    for (const std::int64_t inner : {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 49, 64, 65, 97}) {
      for (const std::int64_t outer : {1, 3}) {
        KernelCase c = start(false);
        c.dims = {outer, length, inner};
        c.axis = 1;
        c.special_one_in = outer == 3 ? 200 : 0;
        check(c);
      }
    }
  }
}

/// Every number of them, in slabs whose ends are whole groups of steps, whole vectors, or neither.
TEST_P(Matrix, LogSoftmaxBackwardFewColumns) {
  for (std::int64_t columns = 2; columns <= 16; ++columns) {
    for (std::int64_t length = 2; length <= 67; length += columns <= 8 || length < 24 ? 1 : 5) {
      KernelCase c = start(false);
      c.dims = {1 + length % 4, length, columns};
      c.axis = 1;
      c.special_one_in = length % 3 == 0 ? 100 : 0;
      check(c);
    }
  }
}

/// Slabs that are updated as one run: of whole vectors or not, with groups that begin at any of the columns.
TEST_P(Matrix, LogSoftmaxBackwardDenseSlabs) {
  for (const std::int64_t columns :
       {16, 17, 20, 23, 31, 32, 33, 47, 48, 49, 63, 64, 65, 79, 127, 1024, 1025}) {
    for (const std::int64_t length : {2, 4, 5, 6, 7, 8, 9, 15, 21}) {
      KernelCase c = start(false);
      c.dims = {1 + length % 3, length, columns};
      c.axis = 1;
      c.special_one_in = length % 3 == 0 ? 100 : 0;
      check(c);
    }
  }
}

TEST_P(Matrix, LogSoftmaxBackwardFewColumnsOfManySlabs) {
  for (const std::int64_t columns : {2, 3, 6, 13}) {
    KernelCase c = start(false);
    c.dims = {2000, 50, columns};
    c.axis = 1;
    c.special_one_in = 0;
    check(c);
    c.dims = {2, 65536, columns};
    check(c);
  }
}

TEST_P(Matrix, LogSoftmaxBackwardManyColumns) {
  KernelCase c = start(false);
  c.special_one_in = 0;
  c.dims = {2, 11, 5000};
  c.axis = -2;
  check(c);
  c.dims = {128, 28, 28};
  c.axis = 0;
  check(c);
}

TEST_P(Matrix, LogSoftmaxBackwardAxisOfSeveralSegments) {
  for (const std::int64_t length : {65537, 65536 + 300, 3 * 65536 + 1}) {
    for (const std::int64_t inner : {1, 3, 17}) {
      KernelCase c = start(false);
      c.special_one_in = 0;
      c.dims = {2, length, inner};
      c.axis = 1;
      check(c);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Matrix,
                         testing::Combine(testing::Values(DataType::f32, DataType::bf16, DataType::f16),
                                          testing::Bool()),
                         [](const auto& test) {
                           return std::string(name_of(std::get<0>(test.param))) +
                                  (std::get<1>(test.param) ? "_in_place" : "");
                         });

/// What this CPU could not run is told, and is no success of the tests above.
TEST(MatrixCoverage, InstructionSetsThatThisCpuHas) {
  const auto isas = emitted_isas();
  for (const Isa isa : {Isa::avx2, Isa::avx512, Isa::avx512_bf16}) {
    const bool has = std::ranges::find(isas, isa) != isas.end();
    std::cout << name_of(isa) << (has ? ": compared with portable\n" : ": NOT RUN, the CPU lacks it\n");
  }
  if (isas.size() < 3) {
    GTEST_SKIP() << 3 - isas.size() << " of 3 instruction sets not run on this CPU";
  }
}

}  // namespace
}  // namespace gradjit::test
