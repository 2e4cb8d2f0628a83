#include "tools/gradjit/verify_exp_sweep.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>

#include <fmt/format.h>

namespace gradjit::tool {
namespace {

constexpr std::size_t block = 1 << 12;
constexpr std::size_t lanes = 8;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

// The loops below see every source with every alpha, 10^12 values: they are written so that the compiler
// makes vector code of them, for the CPU at hand. (On AVX-512, 0.3 ns per value; with std::ilogb and
// std::ldexp it was 20 ns.)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GRADJIT_VECTOR_CLONES  // the clones are chosen before the sanitizers have started
#else
#define GRADJIT_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

/// The powers of two that bring alpha * exp(x) * g into [1, 2), as far as f32 goes.
GRADJIT_VECTOR_CLONES
void balance(double alpha, const Doubles& exps, Floats& gradients) {
  const double* e = exps.data();
  float* g = gradients.data();
  for (std::size_t i = 0; i < block; ++i) {
    const auto biased = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(alpha * e[i]) >> 52);
    const std::int64_t exponent = std::min<std::int64_t>(std::max<std::int64_t>(1023 - biased, -126), 127);
    g[i] = std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
  }
}

/// A value of alpha * exp(src) * diff_dst, and how far a kernel's result is from it. `exps` is 0 where src >
/// 0, which makes it no value that counts.
struct Comparison {
  double expected;
  double distance;

  Comparison(double alpha, double exp_src, float gradient, float result)
      : expected(alpha * exp_src * static_cast<double>(gradient)),
        distance(std::abs(static_cast<double>(result) - expected)) {}

  /// Normal numbers of f32, where the relative error says something.
  [[nodiscard]] bool counts() const { return expected >= 0x1p-126; }
  /// True for NaN as well. (A division in its place took a third of the sweep's time.)
  [[nodiscard]] bool exceeds(double error) const { return counts() && !(distance <= error * expected); }
};

/// How many values count, and how many of them have a relative error beyond a known one.
struct Counts {
  std::array<std::int64_t, lanes> values{};
  std::array<std::int64_t, lanes> beyond{};

  [[nodiscard]] static std::uint64_t sum(const std::array<std::int64_t, lanes>& counts) {
    return static_cast<std::uint64_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  }
};

GRADJIT_VECTOR_CLONES
void count(double alpha, const Doubles& exps, const Floats& gradients, const Floats& results, double known,
           Counts& counts) {
  for (std::size_t first = 0; first < block; first += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t i = first + lane;
      const Comparison value(alpha, exps[i], gradients[i], results[i]);
      counts.values[lane] += value.counts() ? 1 : 0;
      counts.beyond[lane] += value.exceeds(known) ? 1 : 0;
    }
  }
}

/// The sources of one block with all alphas.
class ExpSweep {
 public:
  ExpSweep(const VerifyPlan& plan, Quantity& relative) : relative_(relative), alphas_(alphas(plan, 200)) {
    for (const float alpha : alphas_) {
      for (const auto& factory : plan.factories) {
        kernels_.push_back(factory->elu_backward({.alpha = alpha, .use_dst = false},
                                                 {DataType::f32, {static_cast<std::int64_t>(block)}}));
      }
    }
    isas_ = plan.factories.size();
  }

  /// The sources whose bits are `first`, `first` + `step`, …
  void sources(std::uint64_t first, std::uint64_t step) const {
    Block b;
    for (std::size_t i = 0; i < block; ++i) {
      const std::uint64_t bits = std::min<std::uint64_t>(first + i * step, 0xFFFFFFFFU);
      b.x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      b.exps[i] = b.x[i] <= 0 ? std::exp(static_cast<double>(b.x[i])) : 0;
      b.has_exps = b.has_exps || b.exps[i] > 0;
    }
    for (std::size_t a = 0; a < alphas_.size(); ++a) {
      one_alpha(a, b);
    }
  }

 private:
  struct Block {
    Floats x = Floats(block);
    Doubles exps = Doubles(block);
    bool has_exps = false;  ///< Not all are 0.
    Floats g = Floats(block);
    Floats portable = Floats(block);
    Floats results = Floats(block);
  };

  void one_alpha(std::size_t a, Block& b) const {
    const auto alpha = static_cast<double>(alphas_[a]);
    balance(alpha, b.exps, b.g);
    run(a, 0, b, b.portable);
    if (b.has_exps) measure(a, b);
    for (std::size_t isa = 1; isa < isas_; ++isa) {
      run(a, isa, b, b.results);
      if (std::memcmp(b.portable.data(), b.results.data(), block * sizeof(float)) == 0) {
        relative_.add_compared(isa, block, 0, [] { return std::string(); });
      } else {  // NaNs, or a fault
        compare_bits(b.portable, b.results, isa, relative_, [&](std::size_t i) { return place(a, b, i); });
      }
    }
  }

  /// Adds the portable results' errors.
  void measure(std::size_t a, const Block& b) const {
    const auto alpha = static_cast<double>(alphas_[a]);
    const double known = relative_.greatest() * 0x1p-23;
    Counts counts;
    count(alpha, b.exps, b.g, b.portable, known, counts);
    GreatestError greatest;
    for (std::size_t i = 0; Counts::sum(counts.beyond) > 0 && i < block; ++i) {
      const Comparison value(alpha, b.exps[i], b.g[i], b.portable[i]);
      if (value.exceeds(known)) {
        greatest.add(value.distance / value.expected * 0x1p23, i);
      }
    }
    greatest.values = Counts::sum(counts.values);
    relative_.add(greatest, [&](std::size_t i) { return place(a, b, i); });
  }

  void run(std::size_t a, std::size_t isa, const Block& b, Floats& results) const {
    kernels_[a * isas_ + isa].run({.src = b.x.data(), .diff_dst = b.g.data(), .diff_src = results.data()},
                                  serial_executor());
  }

  [[nodiscard]] std::string place(std::size_t a, const Block& b, std::size_t i) const {
    return fmt::format("alpha {:a} src {:a} diff_dst {:a}", alphas_[a], b.x[i], b.g[i]);
  }

  Quantity& relative_;
  std::vector<float> alphas_;
  std::size_t isas_ = 0;
  std::vector<EluBackwardKernel> kernels_;  // those of one alpha together
};

}  // namespace

std::vector<float> alphas(const VerifyPlan& plan, std::size_t random_ones) {
  std::vector<float> result{0.0F, 0x1p-149F,  1e-40F, 0.01F, 0.37F,  0.5F,    1.0F,
                            1.5F, 1.6732632F, 2.0F,   3.0F,  100.0F, 0x1p30F, 3e38F};
  std::mt19937 random(plan.seed);
  std::uniform_real_distribution<double> exponent(-20, 20);
  for (std::size_t i = 0; i < random_ones; ++i) {
    result.push_back(static_cast<float>(std::exp2(exponent(random))));
  }
  return result;
}

void verify_exp_of_sources(const VerifyPlan& plan, Quantity& relative) {
  const ExpSweep sweep(plan, relative);
  // Odd, so that a sample meets every pattern of low bits.
  const std::uint64_t step = plan.exhaustive ? 1 : 4093;
  const std::uint64_t sources = std::uint64_t{1} << 32;
  const std::uint64_t stride = block * step;
  in_parallel((sources + stride - 1) / stride, [&](std::size_t i) { sweep.sources(i * stride, step); });
}

}  // namespace gradjit::tool
