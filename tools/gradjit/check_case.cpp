#include "tools/gradjit/check_case.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "tools/gradjit/elements.hpp"
#include "tools/gradjit/reference.hpp"

namespace gradjit::tool {
namespace {

/// A kernel for a case, whichever operation it is of.
using RunKernel = std::function<void(const Bytes& activation, const Bytes& diff_dst, Bytes& diff_src)>;

RunKernel make_kernel(KernelFactory& factory, const Case& source, DataType dtype, bool in_place) {
  const TensorDesc desc(dtype, source.dims);
  if (source.operation == CaseOperation::elu_backward) {
    const bool use_dst = source.use_dst;
    const EluBackwardKernel kernel = factory.elu_backward(
        {.alpha = static_cast<float>(source.alpha), .use_dst = use_dst, .in_place = in_place}, desc);
    return [kernel, use_dst](const Bytes& activation, const Bytes& diff_dst, Bytes& diff_src) {
      EluBackwardArgs args{.diff_dst = diff_dst.data(), .diff_src = diff_src.data()};
      (use_dst ? args.dst : args.src) = activation.data();
      kernel.run(args);
    };
  }
  const LogSoftmaxBackwardKernel kernel =
      factory.log_softmax_backward({.axis = source.axis, .in_place = in_place}, desc);
  return [kernel](const Bytes& activation, const Bytes& diff_dst, Bytes& diff_src) {
    kernel.run({.diff_dst = diff_dst.data(), .dst = activation.data(), .diff_src = diff_src.data()});
  };
}

/// The case's inputs in one type, and what the portable path makes of them.
struct Inputs {
  Inputs(const Case& from, DataType type)
      : source(from),
        dtype(type),
        activation(encode(from.activation, type)),
        diff_dst(encode(from.diff_dst, type)) {}

  [[nodiscard]] Bytes run(KernelFactory& factory, bool in_place) const {
    const RunKernel kernel = make_kernel(factory, source, dtype, in_place);
    // The bytes to overwrite: what a kernel leaves out must not pass for a result.
    Bytes diff_src = in_place ? diff_dst : Bytes(diff_dst.size(), std::byte{0xa5});
    kernel(activation, in_place ? diff_src : diff_dst, diff_src);
    return diff_src;
  }

  const Case& source;
  DataType dtype;
  Bytes activation;
  Bytes diff_dst;
};

void judge_errors(CheckedRun& run, const Reference& reference, std::span<const float> results) {
  run.error = -1;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double error = reference.error(i, results[i]);
    if (error <= run.error) continue;
    run.error = error;
    run.index = i;
    run.result = results[i];
    run.expected = reference.expected(i);
  }
  run.error = std::max(run.error, 0.0);
}

/// All NaNs count as one.
void judge_bits(CheckedRun& run, const Inputs& inputs, const Bytes& result, const Bytes& portable) {
  const std::vector<float> results = decode(result, inputs.dtype);
  const std::vector<float> expected = decode(portable, inputs.dtype);
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Widening is exact, so these are the same bits when the originals are.
    const bool same = std::bit_cast<std::uint32_t>(results[i]) == std::bit_cast<std::uint32_t>(expected[i]);
    if (same || (std::isnan(results[i]) && std::isnan(expected[i]))) continue;
    if (run.differs++ == 0) run.first_difference = i;
  }
}

/// The median of several calls, in microseconds.
double time_kernel(KernelFactory& factory, const Inputs& inputs) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t fewest_calls = 5;
  constexpr std::size_t most_calls = 101;
  constexpr std::chrono::duration<double> enough = std::chrono::milliseconds(10);
  const RunKernel kernel = make_kernel(factory, inputs.source, inputs.dtype, false);
  Bytes diff_src(inputs.diff_dst.size());
  kernel(inputs.activation, inputs.diff_dst, diff_src);
  std::vector<double> times;
  std::chrono::duration<double> total{0};
  while (times.size() < fewest_calls || (times.size() < most_calls && total < enough)) {
    const Clock::time_point start = Clock::now();
    kernel(inputs.activation, inputs.diff_dst, diff_src);
    const std::chrono::duration<double> time = Clock::now() - start;
    times.push_back(time.count());
    total += time;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle * 1e6;
}

}  // namespace

CheckedCase check_case(const Case& source, DataType dtype, KernelFactory& portable,
                       std::span<const std::unique_ptr<KernelFactory>> factories) {
  const Inputs inputs(source, dtype);
  const Reference reference(source, dtype, decode(inputs.activation, dtype), decode(inputs.diff_dst, dtype));
  const Bytes portable_result = inputs.run(portable, false);
  CheckedCase checked{.source = &source,
                      .dtype = dtype,
                      .limit = reference.limit(),
                      .unbounded = reference.unbounded(),
                      .runs = {}};
  for (const std::unique_ptr<KernelFactory>& factory : factories) {
    for (const bool in_place : {false, true}) {
      CheckedRun run{.isa = factory->isa(), .in_place = in_place};
      const Bytes result = inputs.run(*factory, in_place);
      judge_errors(run, reference, decode(result, dtype));
      judge_bits(run, inputs, result, portable_result);
      checked.runs.push_back(run);
    }
  }
  checked.timed_isa = factories.back()->isa();
  checked.microseconds = time_kernel(*factories.back(), inputs);
  return checked;
}

}  // namespace gradjit::tool
