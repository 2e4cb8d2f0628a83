// A loadable module with gradjit inside.
#include <vector>

#include <gradjit/gradjit.hpp>

// Large enough to be cut into parts and run on OpenMP's threads. Returns 0 when the result is right.
extern "C" __attribute__((visibility("default"))) int run_in_parallel() {
  constexpr std::int64_t size = 1 << 22;
  const std::vector<float> dst(size, 1.0f);
  std::vector<float> diff_dst(size, 2.0f);

  auto& factory = gradjit::KernelFactory::shared();
  const auto kernel =
      factory.elu_backward({.alpha = 1.0f, .in_place = true}, {gradjit::DataType::f32, {size}});
  kernel.run({.dst = dst.data(), .diff_dst = diff_dst.data(), .diff_src = diff_dst.data()});
  for (const float value : diff_dst) {
    if (value != 2.0f) return 1;
  }
  return 0;
}
