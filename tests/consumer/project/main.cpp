// Both operations, called from C++ with nothing but the public header.
#include <cmath>
#include <cstdio>
#include <vector>

#include <gradjit/gradjit.hpp>

namespace {

int failures = 0;

void expect_near(const char* what, float actual, float expected) {
  if (std::abs(actual - expected) <= 1e-6f) return;
  std::printf("%s is %g, not %g\n", what, static_cast<double>(actual), static_cast<double>(expected));
  ++failures;
}

}  // namespace

int main() {
  gradjit::KernelFactory factory;

  const std::vector<float> src = {1.0f, -1.0f, 0.0f, 100.0f};
  const std::vector<float> diff_dst = {0.5f, 2.0f, -3.0f, 4.0f};
  std::vector<float> diff_src(4);

  const auto elu = factory.elu_backward({.alpha = 1.0f, .use_dst = false}, {gradjit::DataType::f32, {2, 2}});
  elu.run({.src = src.data(), .diff_dst = diff_dst.data(), .diff_src = diff_src.data()});
  expect_near("elu[0]", diff_src[0], 0.5f);
  expect_near("elu[1]", diff_src[1], 2.0f * std::exp(-1.0f));
  expect_near("elu[2]", diff_src[2], -3.0f);
  expect_near("elu[3]", diff_src[3], 4.0f);

  const std::vector<float> dst(4, std::log(0.25f));
  const auto log_softmax = factory.log_softmax_backward({.axis = -1}, {gradjit::DataType::f32, {1, 4}});
  log_softmax.run({.diff_dst = diff_dst.data(), .dst = dst.data(), .diff_src = diff_src.data()});
  for (std::size_t i = 0; i < diff_src.size(); ++i) {
    expect_near("log_softmax", diff_src[i], diff_dst[i] - 0.25f * 3.5f);
  }

  std::printf("gradjit %s, %s: %d failures\n", gradjit::version, elu.name().c_str(), failures);
  return failures == 0 ? 0 : 1;
}
