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

Kernel kernel_of_runs(std::int64_t size, Isa isa, const jit::RunShape& shape) {
  jit::KernelSpec spec = kernel_of(Loop::transpose, size, isa)->spec;
  spec.loop = Loop::runs;
  spec.run = shape;
  return detail::compile(spec);
}

std::size_t bytes_of(const std::vector<CopyLoop>& loops, std::int64_t size, std::int64_t CopyLoop::*stride) {
  std::int64_t bytes = size;
  for (const CopyLoop& loop : loops) {
    bytes += loop.*stride * (loop.size - 1);
  }
  return static_cast<std::size_t>(bytes);
}

/// The bytes that lie side by side in what a kernel copies.
std::int64_t unit_of(const jit::KernelSpec& spec) {
  const auto size = static_cast<std::int64_t>(size_of(spec.dtype));
  return spec.loop == Loop::runs ? spec.run.length * size : size;
}

/// Copies with the kernel and without, and compares.
void expect_copies(const CompiledKernel& kernel, const std::vector<CopyLoop>& loops,
                   GuardedBuffer::Guard guard) {
  const std::int64_t size = unit_of(kernel.spec);
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

TEST_P(Copy, TransposesByPlacesAsPlainCodeDoes) {
  const std::int64_t size = GetParam();
  const std::int64_t least = jit::least_transposed(size);
  for (const Isa isa : emitted_isas()) {
    const Kernel kernel = kernel_of(Loop::transpose_by_places, size, isa);
    for (std::int64_t rows = 2; rows <= 12; ++rows) {
      for (std::int64_t columns = 2; columns <= 12; ++columns) {
        for (const std::int64_t inner : {2, 3, 7}) {
          if (rows * inner < least || columns * inner < least) {
            continue;
          }
          SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns");
          const std::int64_t from = rows * inner * size;
          const std::int64_t to = (columns * inner + 1) * size;
          // Rows follow one another where they are read, columns where they are written, each in two loops.
          ASSERT_NO_FATAL_FAILURE(expect_copies(*kernel, {{inner, columns * to, size},
                                                          {rows, inner * columns * to, inner * size},
                                                          {columns, size, inner * from},
                                                          {inner, columns * size, from}}));
        }
      }
    }
  }
}

TEST_P(Copy, MovesRunsAsPlainCodeDoes) {
  const std::int64_t size = GetParam();
  const std::int64_t greatest = 64 / size + 3;
  for (const Isa isa : emitted_isas()) {
    for (std::int64_t length = 1; length < greatest; length += length < 9 ? 1 : 5) {
      for (std::int64_t from = length; from <= greatest; from += from < length + 2 ? 1 : 7) {
        for (std::int64_t to = length; to <= greatest; to += to < length + 2 ? 1 : 6) {
          const jit::RunShape shape{static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(from),
                                    static_cast<std::uint8_t>(to)};
          const std::int64_t at_once = jit::runs_at_once(isa, size, shape);
          if (at_once == 0 || (from == length && to == length)) {
            continue;
          }
          const Kernel kernel = kernel_of_runs(size, isa, shape);
          for (const std::int64_t runs :
               {at_once, at_once + 1, 4 * at_once - 1, 5 * at_once, 9 * at_once + 1}) {
            SCOPED_TRACE(std::to_string(runs) + " runs");
            const CopyLoop line{runs, to * size, from * size};
            const CopyLoop lines{3, (runs * to + 2) * size, (runs * from + 5) * size};
            ASSERT_NO_FATAL_FAILURE(expect_copies(*kernel, {line}));
            ASSERT_NO_FATAL_FAILURE(expect_copies(*kernel, {lines, line}));
          }
        }
      }
    }
  }
}

TEST_P(Copy, MovesSingleRunsAsPlainCodeDoes) {
  const std::int64_t size = GetParam();
  for (const Isa isa : emitted_isas()) {
    for (std::uint8_t length = 1; length <= 128 / size + 1; ++length) {
      const jit::RunShape shape{length, 0, 0};
      if (jit::runs_at_once(isa, size, shape) == 0) {
        continue;
      }
      const Kernel kernel = kernel_of_runs(size, isa, shape);
      for (const std::int64_t runs : {2, 3, 4, 5, 9}) {
        const CopyLoop line{runs, (length + 300) * size, (length + 1) * size};
        const CopyLoop lines{2, (length + 7) * size, (runs * length + 90) * size};
        ASSERT_NO_FATAL_FAILURE(expect_copies(*kernel, {line}));
        ASSERT_NO_FATAL_FAILURE(expect_copies(*kernel, {lines, line}));
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
  // Loops that would not fill a line by themselves are transposed together.
  EXPECT_EQ(name({{100, 4, 40}, {5, 400, 4}, {2, 2400, 20}}, 4, to, Isa::avx2),
            "copy_transpose_by_places_4_bytes_avx2");
  EXPECT_EQ(name({{100, 4, 160}, {20, 400, 4}, {2, 9000, 80}}, 4, to, Isa::avx2),
            "copy_transpose_4_bytes_avx2");
  // Runs, as the largest elements that they and their pitches are multiples of; single ones of any pitch.
  EXPECT_EQ(name({{100, 12, 16}, {3, 4, 4}}, 4, to, Isa::avx512), "copy_runs_4_bytes_avx512_3_pitch_4_to_3");
  EXPECT_EQ(name({{100, 16, 12}, {6, 2, 2}}, 2, from, Isa::avx512),
            "copy_runs_4_bytes_avx512_3_pitch_3_to_4");
  EXPECT_EQ(name({{100, 10, 14}, {5, 2, 2}}, 2, to, Isa::avx512), "copy_runs_2_bytes_avx512_5_pitch_7_to_5");
  EXPECT_EQ(name({{100, 2, 16}, {3, 400, 2}}, 2, to, Isa::avx512), "copy_runs_2_bytes_avx512_1_pitch_8_to_1");
  EXPECT_EQ(name({{100, 68, 800}, {17, 4, 4}}, 4, to, Isa::avx512), "copy_runs_4_bytes_avx512_17");
  EXPECT_EQ(name({{100, 68, -80}, {17, 4, 4}}, 4, to, Isa::avx512), "copy_runs_4_bytes_avx512_17");
  // Plain code: adjacent on both sides, too short, too far apart, broadcast, other instruction sets.
  EXPECT_EQ(name({{100, 400, 500}, {99, 4, 4}}, 4, to, Isa::avx512), "");
  EXPECT_EQ(name({{15, 4, 8}}, 4, to, Isa::avx512), "");
  EXPECT_EQ(name({{100, 4, 40}, {3, 400, 4}}, 4, to, Isa::avx512), "");
  EXPECT_EQ(name({{3, 12, 16}, {3, 4, 4}}, 4, to, Isa::avx512), "");
  EXPECT_EQ(name({{100, 12, 16}, {3, 4, 4}}, 4, to, Isa::avx2), "");
  EXPECT_EQ(name({{100, 4, 800}}, 4, to, Isa::avx512), "");
  EXPECT_EQ(name({{100, 4, 0}, {100, 400, 4}}, 4, to, Isa::avx512), "");
  EXPECT_EQ(name({{100, 4, 8}}, 4, to, Isa::portable), "");
}

}  // namespace
}  // namespace gradjit::test
