#include "tools/gradjit/check_case.hpp"

#include <functional>
#include <vector>

#include "tools/gradjit/elements.hpp"
#include "tools/gradjit/judge.hpp"
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

/// In microseconds.
double time_kernel(KernelFactory& factory, const Inputs& inputs) {
  const RunKernel kernel = make_kernel(factory, inputs.source, inputs.dtype, false);
  Bytes diff_src(inputs.diff_dst.size());
  return time_calls([&] { kernel(inputs.activation, inputs.diff_dst, diff_src); });
}

}  // namespace

CheckedCase check_case(const Case& source, DataType dtype, KernelFactory& portable,
                       std::span<const std::unique_ptr<KernelFactory>> factories) {
  const Inputs inputs(source, dtype);
  const Reference reference(source, dtype, decode(inputs.activation, dtype), decode(inputs.diff_dst, dtype));
  const std::vector<float> portable_results = decode(inputs.run(portable, false), dtype);
  CheckedCase checked{.source = &source,
                      .dtype = dtype,
                      .limit = reference.limit(),
                      .unbounded = reference.unbounded(),
                      .runs = {}};
  for (const std::unique_ptr<KernelFactory>& factory : factories) {
    for (const bool in_place : {false, true}) {
      CheckedRun run{.isa = factory->isa(), .in_place = in_place};
      judge(run, reference, decode(inputs.run(*factory, in_place), dtype), portable_results);
      checked.runs.push_back(run);
    }
  }
  checked.timed_isa = factories.back()->isa();
  checked.microseconds = time_kernel(*factories.back(), inputs);
  return checked;
}

}  // namespace gradjit::tool
