// The errors of EluBackward. From src, f32's bound for every gradient follows from the relative error of
// alpha * exp(src); see verify_exp_sweep.hpp.

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
#include "tools/gradjit/verify_exp_sweep.hpp"

namespace gradjit::tool {
namespace {

constexpr std::size_t block = 1 << 14;

std::vector<EluBackwardKernel> make_kernels(const VerifyPlan& plan, DataType dtype, float alpha,
                                            bool use_dst) {
  std::vector<EluBackwardKernel> kernels;
  for (const auto& factory : plan.factories) {
    kernels.push_back(factory->elu_backward({.alpha = alpha, .use_dst = use_dst},
                                            {dtype, {static_cast<std::int64_t>(block)}}));
  }
  return kernels;
}

/// What all kernels make of the same inputs.
Results run(const std::vector<EluBackwardKernel>& kernels, DataType dtype, bool use_dst,
            const std::vector<float>& activation, const std::vector<float>& diff_dst) {
  const Bytes x = encode(activation, dtype);
  const Bytes g = encode(diff_dst, dtype);
  Bytes out(x.size());
  Results results;
  for (const EluBackwardKernel& kernel : kernels) {
    kernel.run({.src = use_dst ? nullptr : x.data(),
                .dst = use_dst ? x.data() : nullptr,
                .diff_dst = g.data(),
                .diff_src = out.data()},
               serial_executor());
    results.push_back(decode(out, dtype));
  }
  return results;
}

std::string place(float alpha, float activation, float g) {
  return fmt::format("alpha {:a} src {:a} diff_dst {:a}", alpha, activation, g);
}

/// Values of a type: all magnitudes alike, with some special ones.
class Draw {
 public:
  Draw(DataType dtype, std::uint32_t seed) : dtype_(dtype), random_(seed) {}

  float any() {
    std::array<float, 1> value{std::bit_cast<float>(static_cast<std::uint32_t>(random_()))};
    while (!std::isfinite(value[0])) {
      value[0] = std::bit_cast<float>(static_cast<std::uint32_t>(random_()));
    }
    return decode(encode(value, dtype_), dtype_)[0];
  }
  float source() {
    const std::array<float, 1> value{-std::exp2(std::uniform_real_distribution<float>(-12, 8)(random_))};
    return decode(encode(value, dtype_), dtype_)[0];
  }

 private:
  DataType dtype_;
  std::mt19937 random_;
};

/// In ulp. An infinity counts as the power of two after the largest number, and so does all beyond that.
/// bf16 results below 2^-126 are zeros; at the border, where f32's rounding decides, the smallest number is
/// right too.
double error_in_ulp(double expected, float result, DataType dtype) {
  if (dtype == DataType::bf16 && std::abs(expected) < 0x1.0001p-126) {
    const bool may_be_smallest = std::abs(expected) > 0x1.fffep-127 && std::abs(result) == 0x1p-126F;
    const bool is_zero = result == 0 && std::signbit(result) == std::signbit(expected);
    return is_zero || may_be_smallest ? 0 : std::numeric_limits<double>::infinity();
  }
  const double beyond = dtype == DataType::f16 ? 0x1p16 : 0x1p128;
  const double target = std::clamp(expected, -beyond, beyond);
  const double actual = std::isinf(result) ? std::copysign(beyond, result) : result;
  const double last = std::nextafter(std::abs(target), 0.0);  // 2^16 has no f16 ulp of its own
  return std::abs(actual - target) / ulp_of(last, dtype);
}

/// What diff_dst is multiplied by; NaN for NaN.
long double factor_of(bool use_dst, float alpha, float activation) {
  const long double x = activation;
  if (activation > 0) return 1;
  return use_dst ? x + alpha : static_cast<long double>(alpha) * std::exp(x);
}

/// Runs the kernels, and adds the greatest error and what differs to `quantity`. NaN inputs count for the
/// bits only.
void judge(const std::vector<EluBackwardKernel>& kernels, DataType dtype, bool use_dst, float alpha,
           const std::vector<float>& x, const std::vector<float>& g, Quantity& quantity) {
  const Results results = run(kernels, dtype, use_dst, x, g);
  GreatestError greatest;
  long double factor = 0;
  for (std::size_t i = 0; i < block; ++i) {
    // Sources often come many in a row, and exp of a long double takes longer than all the rest.
    const bool as_before =
        i > 0 && std::bit_cast<std::uint32_t>(x[i]) == std::bit_cast<std::uint32_t>(x[i - 1]);
    factor = as_before ? factor : factor_of(use_dst, alpha, x[i]);
    const auto expected = static_cast<double>(g[i] * factor);
    if (std::isnan(expected)) continue;
    greatest.add(error_in_ulp(expected, results[0][i], dtype), i);
  }
  const auto place_of = [&](std::size_t i) { return place(alpha, x[i], g[i]); };
  quantity.add(greatest, place_of);
  compare_bits(results, quantity, place_of);
}

/// Random activations and gradients for one alpha.
void sample(const VerifyPlan& plan, DataType dtype, bool use_dst, float alpha, std::uint32_t seed,
            Quantity& quantity) {
  const std::vector<EluBackwardKernel> kernels = make_kernels(plan, dtype, alpha, use_dst);
  Draw draw(dtype, seed);
  std::vector<float> x(block);
  std::vector<float> g(block);
  for (std::size_t i = 0; i < block; ++i) {
    x[i] = i % 4 == 0 ? draw.any() : draw.source();
    g[i] = draw.any();
  }
  judge(kernels, dtype, use_dst, alpha, x, g, quantity);
}

/// Every 16-bit source (a sample: one in 61), with every mantissa of the gradient at some exponents: the
/// products that fall nearest to the middle between two numbers are among them.
void sweep_sources(const VerifyPlan& plan, DataType dtype, float alpha, Quantity& quantity) {
  const std::vector<EluBackwardKernel> kernels = make_kernels(plan, dtype, alpha, false);
  const std::uint32_t mantissas = dtype == DataType::bf16 ? 128 : 1024;
  const std::uint32_t per_block = block / mantissas;
  const std::array<std::uint32_t, 4> exponents = dtype == DataType::bf16
                                                     ? std::array<std::uint32_t, 4>{0, 1, 127, 250}
                                                     : std::array<std::uint32_t, 4>{0, 1, 15, 30};
  const std::uint32_t step = plan.exhaustive ? 1 : 61;
  const std::uint32_t sources = (65536 + step - 1) / step;
  in_parallel((sources + per_block - 1) / per_block * exponents.size(), [&](std::size_t task) {
    std::vector<std::uint16_t> x_bits(block);
    std::vector<std::uint16_t> g_bits(block);
    for (std::uint32_t i = 0; i < block; ++i) {
      const auto source = static_cast<std::uint32_t>(task / exponents.size()) * per_block + i / mantissas;
      x_bits[i] = static_cast<std::uint16_t>(std::min(source * step, 65535U));
      g_bits[i] = static_cast<std::uint16_t>(exponents[task % exponents.size()] * mantissas + i % mantissas);
    }
    const auto as_floats = [&](const std::vector<std::uint16_t>& bits) {
      return decode(std::as_bytes(std::span(bits)), dtype);
    };
    const std::vector<float> x = as_floats(x_bits);
    const std::vector<float> g = as_floats(g_bits);
    judge(kernels, dtype, false, alpha, x, g, quantity);
  });
}

}  // namespace

void verify_elu_backward(const VerifyPlan& plan, DataType dtype, Quantities& quantities) {
  const auto quantity = [&](const char* what, const char* unit, double bound) -> Quantity& {
    quantities.push_back(
        std::make_unique<Quantity>("elu_backward", dtype, what, unit, bound, plan.factories.size()));
    return *quantities.back();
  };
  const double sixteen_bit_bound = dtype == DataType::bf16 ? 0.505 : 0.51;
  const bool is_f32 = dtype == DataType::f32;
  if (is_f32) {
    Quantity& relative = quantity("alpha * exp(src), relative", "2^-23", 0.75);
    relative.consequence = [](double greatest) {
      return fmt::format(
          "so EluBackward from src errs by at most 2 * {:.4f} + 0.5 = {:.4f} ulp, whatever diff_dst",
          greatest, 2 * greatest + 0.5);
    };
    verify_exp_of_sources(plan, relative);
  } else {
    Quantity& swept = quantity("from src, gradients near ties", "ulp", sixteen_bit_bound);
    for (const float alpha : alphas(plan, 0)) {
      sweep_sources(plan, dtype, alpha, swept);
    }
  }
  Quantity& from_src = quantity("from src, any gradient", "ulp", is_f32 ? 2.0 : sixteen_bit_bound);
  Quantity& from_dst = quantity("from dst, any gradient", "ulp", is_f32 ? 1.5 : sixteen_bit_bound);
  const std::vector<float> all = alphas(plan, plan.exhaustive ? 2000 : 200);
  in_parallel(all.size(), [&](std::size_t i) {
    const auto seed = plan.seed + static_cast<std::uint32_t>(i);
    sample(plan, dtype, false, all[i], seed, from_src);
    sample(plan, dtype, true, all[i], seed, from_dst);
  });
}

}  // namespace gradjit::tool
