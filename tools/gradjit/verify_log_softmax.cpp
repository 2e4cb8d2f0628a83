// The errors of LogSoftmaxBackward: of exp(dst) by itself, then of whole rows, as a fraction of the bound.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "tools/gradjit/elements.hpp"
#include "tools/gradjit/reference.hpp"
#include "tools/gradjit/verify.hpp"

namespace gradjit::tool {
namespace {

constexpr std::size_t block = 1 << 14;

Results run(const VerifyPlan& plan, DataType dtype, const Dims& dims, std::int64_t axis,
            const std::vector<float>& dst, const std::vector<float>& diff_dst) {
  const Bytes y = encode(dst, dtype);
  const Bytes g = encode(diff_dst, dtype);
  Bytes out(y.size());
  Results results;
  for (const auto& factory : plan.factories) {
    const auto kernel = factory->log_softmax_backward({.axis = axis}, {dtype, dims});
    kernel.run({.diff_dst = g.data(), .dst = y.data(), .diff_src = out.data()}, serial_executor());
    results.push_back(decode(out, dtype));
  }
  return results;
}

/// exp(dst) alone: along an axis of 2 with gradients 0 and -1, the first result is exactly exp(dst).
void sweep_exp(const VerifyPlan& plan, Quantity& quantity) {
  const std::uint64_t step = plan.exhaustive ? 1 : 1021;
  const std::uint64_t stride = block * step;
  const std::size_t tasks = ((std::uint64_t{1} << 32) + stride - 1) / stride;
  in_parallel(tasks, [&](std::size_t index) {
    std::vector<float> dst(2 * block);
    std::vector<float> diff_dst(2 * block);
    for (std::size_t i = 0; i < block; ++i) {
      const std::uint64_t bits = std::min<std::uint64_t>(index * stride + i * step, 0xFFFFFFFFU);
      dst[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      diff_dst[block + i] = -1;
    }
    const Results results = run(plan, DataType::f32, {2, static_cast<std::int64_t>(block)}, 0, dst, diff_dst);
    GreatestError greatest;
    for (std::size_t i = 0; i < block; ++i) {
      if (!(dst[i] <= 88)) continue;
      const double expected = std::exp(double{dst[i]});
      greatest.add(std::abs(results[0][i] - expected) / ulp_of(expected, DataType::f32), i);
    }
    const auto place = [&](std::size_t i) { return fmt::format("dst {:a}", dst[i]); };
    quantity.add(greatest, place);
    compare_bits(results, quantity, place);
  });
}

/// A row of gradients made to be hard.
enum class Row { random, cancelling, large_and_small, constant, ramp };
constexpr std::array all_rows{Row::random, Row::cancelling, Row::large_and_small, Row::constant, Row::ramp};

float gradient(Row row, std::int64_t i, std::int64_t length, std::mt19937& random) {
  std::normal_distribution<float> normal;
  switch (row) {
    case Row::random:
      return normal(random);
    case Row::cancelling:
      return (i % 2 == 0 ? 1.0F : -1.0F) * (1.0F + static_cast<float>(i / 2 % 64) / 64.0F);
    case Row::large_and_small:
      return (i % 2 == 0 ? 1e8F : -1e8F) / (i / 2 % 3 == 0 ? 1.0F : 1e4F) + normal(random);
    case Row::constant:
      return 1.0F;
    case Row::ramp:
      return static_cast<float>(static_cast<double>(i) - static_cast<double>(length) / 2 + 0.5);
  }
  return 0;
}

/// The bound of one element, in the type; see the documentation of `LogSoftmaxBackward`.
double bound_of(double g, double exp_dst, double sum, double magnitudes, double expected, DataType dtype) {
  const double f32_bound =
      0x1p-23 * (std::abs(g) + 4 * exp_dst * magnitudes) + 0x1p-149 * (1 + std::abs(sum));
  if (dtype == DataType::f32) {
    return f32_bound;
  }
  const double flushed = dtype == DataType::bf16 ? 0x1p-126 : 0;
  return f32_bound + std::max(flushed, 0.5 * ulp_of(std::abs(expected) + f32_bound, dtype));
}

/// `length` along the axis, `others` rows or columns.
void one_shape(const VerifyPlan& plan, DataType dtype, Row kind, std::int64_t length, std::int64_t others,
               bool last_axis, Quantity& quantity) {
  std::mt19937 random(plan.seed + static_cast<std::uint32_t>(length));
  std::uniform_real_distribution<float> log_probability(-20, 0);
  const auto total = static_cast<std::size_t>(length * others);
  std::vector<float> dst(total);
  std::vector<float> diff_dst(total);
  const auto at = [&](std::int64_t line, std::int64_t i) {
    return static_cast<std::size_t>(last_axis ? line * length + i : i * others + line);
  };
  for (std::int64_t line = 0; line < others; ++line) {
    for (std::int64_t i = 0; i < length; ++i) {
      dst[at(line, i)] = log_probability(random) - (random() % 64 == 0 ? 80.0F : 0.0F);
      diff_dst[at(line, i)] = gradient(kind, i, length, random);
    }
  }
  // What the kernels get.
  dst = decode(encode(dst, dtype), dtype);
  diff_dst = decode(encode(diff_dst, dtype), dtype);
  const Dims dims = last_axis ? Dims{others, length} : Dims{length, others};
  const Results results = run(plan, dtype, dims, last_axis ? 1 : 0, dst, diff_dst);
  GreatestError greatest;
  for (std::int64_t line = 0; line < others; ++line) {
    long double sum = 0;
    long double magnitudes = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      sum += diff_dst[at(line, i)];
      magnitudes += std::abs(diff_dst[at(line, i)]);
    }
    if (!(magnitudes < 0x1p127L) || std::isinf(static_cast<double>(sum))) continue;
    for (std::int64_t i = 0; i < length; ++i) {
      const double g = diff_dst[at(line, i)];
      const double exp_dst = std::exp(double{dst[at(line, i)]});
      const auto expected = static_cast<double>(g - static_cast<long double>(exp_dst) * sum);
      const double result = results[0][at(line, i)];
      if (dtype == DataType::f16 && std::abs(expected) > 65519) continue;  // overflows
      const double error =
          std::abs(result - expected) /
          bound_of(g, exp_dst, static_cast<double>(sum), static_cast<double>(magnitudes), expected, dtype);
      greatest.add(error, at(line, i));
    }
  }
  const auto place = [&](std::size_t i) {
    return fmt::format("{} {} element {}: dst {:a} diff_dst {:a}", last_axis ? "rows of" : "columns of",
                       length, i, dst[i], diff_dst[i]);
  };
  quantity.add(greatest, place);
  compare_bits(results, quantity, place);
}

}  // namespace

void verify_log_softmax_backward(const VerifyPlan& plan, DataType dtype, Quantities& quantities) {
  const auto quantity = [&](const char* what, const char* unit, double bound) -> Quantity& {
    quantities.push_back(
        std::make_unique<Quantity>("log_softmax_backward", dtype, what, unit, bound, plan.factories.size()));
    return *quantities.back();
  };
  if (dtype == DataType::f32) {
    sweep_exp(plan, quantity("exp(dst)", "ulp", 1.0));
  }
  Quantity& rows = quantity("last axis", "of the bound", 1.0);
  Quantity& columns = quantity("other axes", "of the bound", 1.0);
  std::vector<std::int64_t> lengths{1, 2, 3, 7, 10, 16, 31, 32, 33, 64, 100, 127, 1000, 4099, 65536, 131072};
  if (plan.exhaustive) {
    for (std::int64_t length = 1; length < 1024; ++length) lengths.push_back(length);
    lengths.insert(lengths.end(), {1 << 20, 4096000, 1 << 24});
  }
  in_parallel(lengths.size() * all_rows.size(), [&](std::size_t task) {
    const std::int64_t length = lengths[task / all_rows.size()];
    const Row kind = all_rows[task % all_rows.size()];
    const std::int64_t others = std::max<std::int64_t>(1, std::min<std::int64_t>(37, 200000 / length));
    one_shape(plan, dtype, kind, length, others, true, rows);
    one_shape(plan, dtype, kind, length, std::max<std::int64_t>(2, others), false, columns);
  });
}

}  // namespace gradjit::tool
