// verify and the other tests judge by double and long double. Here MPFR, with 200 bits, judges those, and the
// results where terms cancel.

#include <gtest/gtest.h>

#ifdef GRADJIT_HAVE_MPFR

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <mpfr.h>

#include <gradjit/gradjit.hpp>

namespace gradjit::test {
namespace {

/// A number of 200 bits.
class Real {
 public:
  explicit Real(double value) {
    mpfr_init2(value_, 200);
    mpfr_set_d(value_, value, MPFR_RNDN);
  }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(value_); }

  Real& operator+=(double x) { return mpfr_add_d(value_, value_, x, MPFR_RNDN), *this; }
  Real& operator-=(const Real& x) { return mpfr_sub(value_, value_, x.value_, MPFR_RNDN), *this; }
  Real& operator*=(double x) { return mpfr_mul_d(value_, value_, x, MPFR_RNDN), *this; }
  Real& operator*=(const Real& x) { return mpfr_mul(value_, value_, x.value_, MPFR_RNDN), *this; }
  Real& operator/=(const Real& x) { return mpfr_div(value_, value_, x.value_, MPFR_RNDN), *this; }
  Real& to_exp() { return mpfr_exp(value_, value_, MPFR_RNDN), *this; }
  /// Rounded once.
  [[nodiscard]] double magnitude() const { return std::abs(mpfr_get_d(value_, MPFR_RNDN)); }

 private:
  mpfr_t value_;
};

/// |value - expected| / expected.
double relative_error(double value, const Real& expected) {
  Real error(value);
  (error -= expected) /= expected;
  return error.magnitude();
}

TEST(Mpfr, ExpOfDoubleIsGoodEnoughToJudgeBy) {
  // Errors are measured as parts of 2^-23: these are less than a hundred-millionth of that.
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(-0x1p-30F);
       bits < std::bit_cast<std::uint32_t>(-700.0F); bits += 1009) {
    const double x = static_cast<double>(std::bit_cast<float>(bits));
    Real expected(x);
    expected.to_exp();
    ASSERT_LT(relative_error(std::exp(x), expected), 0x1p-52) << x;
  }
}

/// Inputs whose errors `gradjit verify --exhaustive` found to be the greatest.
TEST(Mpfr, TheGreatestErrorsOfVerify) {
  struct Found {
    float alpha;
    float src;
    float diff_dst;
    double error;  ///< In 2^-23.
  };
  const std::array found{Found{0x1.4ac7aap-18F, -0x1.71cd08p+4F, 0x1p+51F, 0.6338}};
  for (const Found& f : found) {
    const auto kernel =
        KernelFactory::shared().elu_backward({.alpha = f.alpha, .use_dst = false}, {DataType::f32, {1}});
    float result = 0;
    kernel.run({.src = &f.src, .diff_dst = &f.diff_dst, .diff_src = &result});
    Real expected(static_cast<double>(f.src));
    expected.to_exp() *= static_cast<double>(f.alpha);
    expected *= static_cast<double>(f.diff_dst);
    EXPECT_NEAR(relative_error(static_cast<double>(result), expected) * 0x1p23, f.error, 0.5e-4) << f.src;
  }
}

/// One row of f32 LogSoftmaxBackward with dst everywhere the same, judged without a rounding.
void check_row(std::int64_t length, float dst, const std::function<double(std::int64_t)>& diff_dst) {
  const auto count = static_cast<std::size_t>(length);
  std::vector<float> y(count, dst);
  std::vector<float> g(count);
  std::vector<float> result(count);
  Real sum(0);
  Real magnitudes(0);
  for (std::size_t i = 0; i < count; ++i) {
    g[i] = static_cast<float>(diff_dst(static_cast<std::int64_t>(i)));
    sum += static_cast<double>(g[i]);
    magnitudes += std::abs(static_cast<double>(g[i]));
  }
  KernelFactory::shared()
      .log_softmax_backward({}, {DataType::f32, {length}})
      .run({.diff_dst = g.data(), .dst = y.data(), .diff_src = result.data()});
  Real product(static_cast<double>(dst));
  product.to_exp() *= sum;
  Real spread(static_cast<double>(dst));
  spread.to_exp() *= magnitudes;
  for (std::size_t i = 0; i < count; ++i) {
    const auto gradient = static_cast<double>(g[i]);
    Real error(gradient);
    (error -= product) += -static_cast<double>(result[i]);
    const double bound =
        0x1p-23 * (std::abs(gradient) + 4 * spread.magnitude()) + 0x1p-149 * (1 + sum.magnitude());
    ASSERT_LE(error.magnitude(), bound) << "element " << i << " of " << length;
  }
}

TEST(Mpfr, SumsThatCancel) {
  check_row(4096000, -15.0F, [](std::int64_t i) { return static_cast<double>(i) - 2048000 + 0.5; });
  check_row(100000, -3.0F, [](std::int64_t i) {
    return i % 3 == 2 ? static_cast<double>(i % 17) * 0.01 : (i % 3 == 0 ? 1e8 : -1e8);
  });
  check_row(31, -0.5F, [](std::int64_t i) { return (i % 2 == 0 ? 1e30 : -1e30) + static_cast<double>(i); });
}

}  // namespace
}  // namespace gradjit::test

#else

TEST(Mpfr, IsMissing) { GTEST_SKIP() << "built without MPFR (libmpfr-dev)"; }

#endif
