// Copies by generated code: the same bytes as plain code gives, in the whole of what is written to, gaps
// included, with every buffer standing against an inaccessible page.

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/cache/compile.hpp"
#include "src/execute/strided_copy.hpp"
#include "tests/support/guarded_buffer.hpp"
#include "tests/support/kernel_case.hpp"

namespace gradjit::test {
namespace {

using detail::CompiledKernel;
using detail::CopyLoop;
using detail::TileSide;
using jit::Loop;

using Kernel = std::shared_ptr<const CompiledKernel>;

/// The kernel for a spec with `size` bytes per element.
Kernel kernel_of(Loop loop, std::int64_t size, Isa isa, std::uint8_t step = 1) {
  const DataType dtype = size == 2 ? DataType::bf16 : DataType::f32;
  return detail::compile(
      {.operation = jit::Operation::copy, .loop = loop, .dtype = dtype, .isa = isa, .step = step});
}

std::size_t bytes_of(const std::vector<CopyLoop>& loops, std::int64_t size, std::int64_t CopyLoop::*stride) {
  std::int64_t bytes = size;
  for (const CopyLoop& loop : loops) {
    bytes += loop.*stride * (loop.size - 1);
  }
  return static_cast<std::size_t>(bytes);
}

/// Copies with the kernel and without, and compares.
void expect_copies(const CompiledKernel& kernel, const std::vector<CopyLoop>& loops,
                   GuardedBuffer::Guard guard) {
  const auto size = static_cast<std::int64_t>(size_of(kernel.spec.dtype));
  const GuardedBuffer from(bytes_of(loops, size, &CopyLoop::from), guard);
  const GuardedBuffer to(bytes_of(loops, size, &CopyLoop::to), guard);
  std::mt19937 random(1);
  for (const auto bytes : {from.bytes(), to.bytes()}) {
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random());
    }
  }
  std::vector<std::byte> expected(to.bytes().begin(), to.bytes().end());
  const auto tile = kernel.spec.loop == Loop::unpack ? detail::TileSide::from : detail::TileSide::to;
  detail::StridedCopy(loops, size, tile).run(expected.data(), from.data());
  detail::StridedCopy(loops, size, tile, &kernel).run(to.data(), from.data());
  ASSERT_EQ(std::memcmp(to.data(), expected.data(), expected.size()), 0) << kernel.name;

  detail::CopyNest nest(loops);
  ASSERT_TRUE(detail::take_call(nest, size, kernel.spec)) << "the kernel was not used";
}

void expect_copies(const CompiledKernel& kernel, const std::vector<CopyLoop>& loops) {
  for (const auto guard : {GuardedBuffer::Guard::before, GuardedBuffer::Guard::after}) {
    ASSERT_NO_FATAL_FAILURE(expect_copies(kernel, loops, guard));
  }
}

class Copy : public testing::TestWithParam<std::int64_t> {};

TEST_P(Copy, MovesStridedElementsAsPlainCodeDoes) {
  const std::int64_t size = GetParam();
  for (const Isa isa : emitted_isas()) {
    for (std::uint8_t step = 0; step <= jit::greatest_copied_step + 1; ++step) {
      if (!jit::copies_step(isa, step)) {
        continue;
      }
      const Kernel pack = kernel_of(Loop::pack, size, isa, step);
      const Kernel unpack = kernel_of(Loop::unpack, size, isa, step);
      const std::int64_t shortest = jit::shortest_copied_line(isa);
      for (std::int64_t count = shortest; count <= 6 * shortest; ++count) {
        SCOPED_TRACE("step " + std::to_string(step) + ", " + std::to_string(count) + " elements");
        const CopyLoop adjacent_lines{3, count * size, (count * step + 5) * size};
        ASSERT_NO_FATAL_FAILURE(expect_copies(*pack, {{count, size, step * size}}));
        ASSERT_NO_FATAL_FAILURE(expect_copies(*pack, {adjacent_lines, {count, size, step * size}}));
        const CopyLoop strided_lines{3, (count * step + 1) * size, (count + 2) * size};
        ASSERT_NO_FATAL_FAILURE(expect_copies(*unpack, {{count, step * size, size}}));
        ASSERT_NO_FATAL_FAILURE(expect_copies(*unpack, {strided_lines, {count, step * size, size}}));
      }
    }
  }
}

TEST_P(Copy, TransposesAsPlainCodeDoes) {
  const std::int64_t size = GetParam();
  for (const Isa isa : emitted_isas()) {
    const Kernel kernel = kernel_of(Loop::transpose, size, isa);
    for (std::int64_t rows = jit::least_transposed(size); rows <= 70; rows += rows < 40 ? 1 : 7) {
      for (std::int64_t columns = jit::least_transposed(size); columns <= 40; ++columns) {
        SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns");
        ASSERT_NO_FATAL_FAILURE(
            expect_copies(*kernel, {{rows, size, columns * size}, {columns, rows * size, size}}));
        ASSERT_NO_FATAL_FAILURE(
            expect_copies(*kernel, {{rows, size, (columns + 5) * size}, {columns, (rows + 1) * size, size}}));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Copy, testing::Values(2, 4),
                         [](const auto& size) { return std::to_string(size.param) + "Bytes"; });

TEST(CopySpec, IsThatOfTheLoopsThatThereAre) {
  const auto name = [](const std::vector<CopyLoop>& loops, std::int64_t size, TileSide tile, Isa isa) {
    const auto spec = detail::copy_spec_of(loops, size, tile, isa);
    return spec ? name_of(*spec) : "";
  };
  const auto to = TileSide::to;
  const auto from = TileSide::from;
  EXPECT_EQ(name({{100, 4, 8}}, 4, to, Isa::avx512_bf16), "copy_pack_4_bytes_avx512_step_2");
  EXPECT_EQ(name({{100, 8, 4}}, 4, from, Isa::avx512), "copy_unpack_4_bytes_avx512_step_2");
  EXPECT_EQ(name({{100, 2, 8}}, 2, to, Isa::avx2), "copy_pack_2_bytes_avx2_step_4");
  EXPECT_EQ(name({{100, 4, 12}, {3, 400, 4}}, 4, to, Isa::avx512), "copy_pack_4_bytes_avx512_step_3");
  EXPECT_EQ(name({{100, 4, 40}, {10, 400, 4}}, 4, to, Isa::avx2), "copy_transpose_4_bytes_avx2");
  EXPECT_EQ(name({{100, 40, 4}, {10, 4, 400}}, 4, from, Isa::avx2), "copy_transpose_4_bytes_avx2");
  // Pairs of 2-byte elements are one of 4.
  EXPECT_EQ(name({{100, 4, 400}, {99, 400, 4}, {2, 2, 2}}, 2, to, Isa::avx512),
            "copy_transpose_4_bytes_avx512");
  // Plain code: adjacent on both sides, too short, too far apart, broadcast, portable.
  EXPECT_EQ(name({{100, 400, 500}, {99, 4, 4}}, 4, to, Isa::avx512), "");
  EXPECT_EQ(name({{15, 4, 8}}, 4, to, Isa::avx512), "");
  EXPECT_EQ(name({{100, 4, 40}, {3, 400, 4}}, 4, to, Isa::avx512), "");
  EXPECT_EQ(name({{100, 4, 800}}, 4, to, Isa::avx512), "");
  EXPECT_EQ(name({{100, 4, 0}, {100, 400, 4}}, 4, to, Isa::avx512), "");
  EXPECT_EQ(name({{100, 4, 8}}, 4, to, Isa::portable), "");
}

}  // namespace
}  // namespace gradjit::test
