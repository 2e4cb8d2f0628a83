// Kernels for elements that lie a few apart: the bits of the portable code, and what lies between the
// elements untouched, with every buffer standing against an inaccessible page.

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/cache/compile.hpp"
#include "tests/support/element_bits.hpp"
#include "tests/support/guarded_buffer.hpp"
#include "tests/support/kernel_case.hpp"

namespace gradjit::test {
namespace {

using jit::KernelArgs;
using jit::KernelSpec;
using jit::Loop;
using jit::Operation;
using jit::Stage;

constexpr Stage stages[] = {Stage::whole, Stage::sum, Stage::update};
constexpr std::int64_t gap = 5;  ///< Elements between lines.

/// Equally distant lines of `count` elements that are `spec.step` apart.
struct Shape {
  std::int64_t lines;
  std::int64_t count;
  std::int64_t line_bytes;
  std::size_t bytes;
};

Shape shape_of(const KernelSpec& spec, std::int64_t lines, std::int64_t count) {
  const auto size = static_cast<std::int64_t>(size_of(spec.dtype));
  const std::int64_t line = (count * spec.step + gap) * size;
  const std::int64_t last = (count - 1) * spec.step * size;
  return {lines, count, line, static_cast<std::size_t>(line * (lines - 1) + last + size)};
}

/// Random elements everywhere, between those of the tensor too.
void fill(std::span<std::byte> buffer, DataType dtype, std::mt19937& random, bool is_log_softmax_dst) {
  const std::size_t size = size_of(dtype);
  for (std::size_t at = 0; at < buffer.size(); at += size) {
    const std::uint32_t bits = random_element(dtype, random, 20, is_log_softmax_dst);
    std::memcpy(buffer.data() + at, &bits, size);
  }
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

/// All NaNs are one.
bool are_same(DataType dtype, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  const std::size_t size = size_of(dtype);
  for (std::size_t at = 0; at < a.size(); at += size) {
    std::uint32_t x = 0;
    std::uint32_t y = 0;
    std::memcpy(&x, a.data() + at, size);
    std::memcpy(&y, b.data() + at, size);
    if (x != y && !(is_nan(dtype, x) && is_nan(dtype, y))) {
      return false;
    }
  }
  return true;
}

/// Slabs of Loop::columns that a kernel takes: those with totals or sums of their own are one.
std::int64_t slabs_of(const KernelSpec& spec) { return spec.stage == Stage::whole ? 2 : 1; }

/// The lines of a shape are runs, slabs of few columns, rows, steps of columns, or one of packed rows.
KernelArgs args_of(const KernelSpec& spec, const Shape& shape) {
  KernelArgs args;
  args.outer = shape.lines;
  args.outer_stride = {shape.line_bytes, shape.line_bytes, shape.line_bytes};
  switch (spec.loop) {
    case Loop::rows:
      args.axis = shape.count;
      break;
    case Loop::packed_rows:
      args.outer = shape.count / spec.axis_rest;
      break;
    case Loop::few_columns:
      args.axis = shape.count / spec.columns;
      break;
    case Loop::columns:
      args.outer = slabs_of(spec);
      args.axis = shape.lines / args.outer;
      args.inner = shape.count;
      args.axis_stride = args.outer_stride;
      args.outer_stride = {args.axis * shape.line_bytes, args.axis * shape.line_bytes,
                           args.axis * shape.line_bytes};
      break;
    default:
      args.inner = shape.count;
      break;
  }
  return args;
}

/// The sums that are read or written: one for each row, column or packed row.
std::size_t sums_of(const KernelSpec& spec, const KernelArgs& args) {
  return static_cast<std::size_t>(spec.loop == Loop::columns ? args.inner : args.outer);
}

/// The tensors of one call, filled with what `shape` alone decides. `room` bytes lie behind each.
struct Tensors {
  Tensors(const KernelSpec& spec, const Shape& shape, GuardedBuffer::Guard guard, std::size_t room = 0)
      : activation_buffer(shape.bytes + room, guard),
        diff_dst_buffer(shape.bytes + room, guard),
        diff_src_buffer(shape.bytes + room, guard),
        activation(activation_buffer.bytes().first(shape.bytes)),
        diff_dst(diff_dst_buffer.bytes().first(shape.bytes)),
        diff_src(diff_src_buffer.bytes().first(shape.bytes)) {
    std::mt19937 random(static_cast<unsigned>(shape.count));
    fill(activation, spec.dtype, random, spec.operation == Operation::log_softmax_backward);
    fill(diff_dst, spec.dtype, random, false);
    fill(diff_src, spec.dtype, random, false);
  }

  /// Returns the totals of Stage::sum, as bits.
  [[nodiscard]] std::vector<std::uint64_t> run(const KernelSpec& spec, const Shape& shape) const {
    KernelArgs args = args_of(spec, shape);
    args.activation = activation.data();
    args.diff_dst = diff_dst.data();
    args.diff_src = spec.in_place ? nullptr : diff_src.data();
    const std::size_t count = sums_of(spec, args);
    const auto padded = static_cast<std::size_t>(jit::padded_columns(static_cast<std::int64_t>(count)));
    std::vector<double> totals(padded);
    std::iota(totals.begin(), totals.end(), 0.25);
    std::vector<float> sums(padded);
    std::iota(sums.begin(), sums.end(), 1.5F);
    const GuardedBuffer scratch(jit::columns_scratch_bytes(args.inner), GuardedBuffer::Guard::before);
    args.totals = totals.data();
    args.sums = sums.data();
    args.scratch = scratch.data();
    (*detail::compile(spec))(args);
    std::vector<std::uint64_t> bits;
    for (std::size_t i = 0; i < count; ++i) {
      bits.push_back(totals[i] != totals[i] ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(totals[i]));
    }
    return bits;
  }

  [[nodiscard]] std::span<std::byte> result(const KernelSpec& spec) const {
    return spec.in_place ? diff_dst : diff_src;
  }

  GuardedBuffer activation_buffer;
  GuardedBuffer diff_dst_buffer;
  GuardedBuffer diff_src_buffer;
  std::span<std::byte> activation;
  std::span<std::byte> diff_dst;
  std::span<std::byte> diff_src;
};

void expect_bits_of_portable(const KernelSpec& spec, const Shape& shape, GuardedBuffer::Guard guard) {
  const Tensors emitted(spec, shape, guard);
  // Not against a page at the end: see expect_same_bits.
  const Tensors portable(spec, shape, GuardedBuffer::Guard::before, 16);
  const auto activation = copy_of(emitted.activation);
  const auto before = copy_of(emitted.result(spec));
  const auto other = copy_of(spec.in_place ? emitted.diff_src : emitted.diff_dst);
  KernelSpec portable_spec = spec;
  portable_spec.isa = Isa::portable;
  const auto expected_totals = portable.run(portable_spec, shape);
  EXPECT_EQ(emitted.run(spec, shape), expected_totals) << name_of(spec) << ", " << shape.count << " elements";

  const auto expected = copy_of(portable.result(spec));
  EXPECT_TRUE(are_same(spec.dtype, copy_of(emitted.result(spec)), expected))
      << name_of(spec) << ", " << shape.count << " elements";
  EXPECT_EQ(copy_of(emitted.activation), activation) << name_of(spec);
  EXPECT_EQ(copy_of(spec.in_place ? emitted.diff_src : emitted.diff_dst), other) << name_of(spec);
  // What lies between the elements.
  auto between = expected;
  const auto size = static_cast<std::int64_t>(size_of(spec.dtype));
  for (std::int64_t i = 0; i < shape.lines * shape.count; ++i) {
    const std::int64_t at = i / shape.count * shape.line_bytes + i % shape.count * spec.step * size;
    std::copy_n(before.begin() + at, size, between.begin() + at);
  }
  EXPECT_EQ(between, before) << name_of(spec) << " in portable code";
}

void expect_bits_of_portable(const KernelSpec& spec, std::int64_t lines,
                             const std::vector<std::int64_t>& counts) {
  for (const std::int64_t count : counts) {
    for (const auto guard : {GuardedBuffer::Guard::before, GuardedBuffer::Guard::after}) {
      expect_bits_of_portable(spec, shape_of(spec, lines, count), guard);
    }
  }
}

std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(last - first + 1));
  std::iota(all.begin(), all.end(), first);
  return all;
}

/// Calls `body` for each spec with a step that there is, of those that go with `spec`.
template <typename Body>
void for_each_step(KernelSpec spec, const Body& body) {
  for (const Isa isa : emitted_isas()) {
    for (const DataType dtype : {DataType::f32, DataType::bf16, DataType::f16}) {
      for (const bool in_place : {false, true}) {
        spec.isa = isa;
        spec.dtype = dtype;
        spec.in_place = in_place;
        for (spec.step = 2; spec.step < 20; ++spec.step) {
          if (jit::takes_step(spec, spec.step)) {
            body(spec);
          }
        }
      }
    }
  }
}

TEST(StridedKernel, EluBackwardGivesTheBitsOfPortableCode) {
  std::vector<std::int64_t> counts = range(1, 69);
  counts.insert(counts.end(), {127, 128, 130});
  for (const float alpha : {1.0F, 0.37F}) {
    for (const bool use_dst : {false, true}) {
      const KernelSpec spec{.use_dst = use_dst, .alpha_bits = std::bit_cast<std::uint32_t>(alpha)};
      for_each_step(spec, [&](const KernelSpec& strided) { expect_bits_of_portable(strided, 3, counts); });
    }
  }
}

TEST(StridedKernel, LogSoftmaxBackwardAlongRowsGivesTheBitsOfPortableCode) {
  std::vector<std::int64_t> counts = range(33, 49);
  counts.insert(counts.end(), {64, 100, 127, 128, 129, 150, 300});
  for (const Stage stage : stages) {
    for (const std::int64_t count : counts) {
      const KernelSpec spec{.operation = Operation::log_softmax_backward,
                            .loop = Loop::rows,
                            .stage = stage,
                            .axis_rest = static_cast<std::uint32_t>(count % jit::rows_chunk)};
      for_each_step(spec, [&](const KernelSpec& strided) { expect_bits_of_portable(strided, 3, {count}); });
    }
  }
}

TEST(StridedKernel, LogSoftmaxBackwardAlongPackedRowsGivesTheBitsOfPortableCode) {
  for (const Stage stage : {Stage::whole, Stage::update}) {
    for (std::int64_t length = 1; length <= jit::packed_rows_limit; ++length) {
      const KernelSpec spec{.operation = Operation::log_softmax_backward,
                            .loop = Loop::packed_rows,
                            .stage = stage,
                            .axis_rest = static_cast<std::uint32_t>(length)};
      std::vector<std::int64_t> counts;
      for (const std::int64_t rows : {1, 7, 16, 29}) {
        counts.push_back(rows * length);
      }
      for_each_step(spec, [&](const KernelSpec& strided) { expect_bits_of_portable(strided, 1, counts); });
    }
  }
}

TEST(StridedKernel, LogSoftmaxBackwardAlongColumnsGivesTheBitsOfPortableCode) {
  for (const Stage stage : stages) {
    for (const std::int64_t steps : {2, 8, 13}) {
      const KernelSpec spec{.operation = Operation::log_softmax_backward,
                            .loop = Loop::columns,
                            .stage = stage,
                            .axis_rest = static_cast<std::uint32_t>(steps % jit::columns_group)};
      for_each_step(spec, [&](const KernelSpec& strided) {
        expect_bits_of_portable(strided, slabs_of(spec) * steps, steps == 13 ? range(1, 33) : range(63, 66));
      });
    }
  }
}

TEST(StridedKernel, LogSoftmaxBackwardAlongFewColumnsGivesTheBitsOfPortableCode) {
  for (int columns = 2; columns <= jit::few_columns_limit(Isa::avx512); ++columns) {
    for (std::int64_t steps = 2; steps < 8 + jit::few_columns_modulus; ++steps) {
      const KernelSpec spec{.operation = Operation::log_softmax_backward,
                            .loop = Loop::few_columns,
                            .axis_rest = static_cast<std::uint32_t>(steps % jit::few_columns_modulus),
                            .columns = static_cast<std::uint8_t>(columns)};
      const std::int64_t more = steps + 3 * jit::few_columns_modulus;
      for_each_step(spec, [&](const KernelSpec& strided) {
        if (columns <= jit::few_columns_limit(strided.isa)) {
          expect_bits_of_portable(strided, 3, {steps * columns, more * columns});
        }
      });
    }
  }
}

}  // namespace
}  // namespace gradjit::test
