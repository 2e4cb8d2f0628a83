#include "tools/gradjit/graph_node.hpp"

#include <cmath>
#include <functional>
#include <random>

#include "tools/gradjit/elements.hpp"
#include "tools/gradjit/reference.hpp"
#include "tools/gradjit/strided.hpp"

namespace gradjit::tool {
namespace {

/// The length of log-softmax's axis.
std::int64_t axis_length(const Case& request) {
  const auto rank = static_cast<std::int64_t>(request.dims.size());
  if (rank == 0) return 1;
  return request.dims[static_cast<std::size_t>(request.axis < 0 ? request.axis + rank : request.axis)];
}

/// Draws values as training has them: ELU's arguments or results on both sides of 0, about what log-softmax
/// makes of logits, gradients of both signs.
class Values {
 public:
  explicit Values(std::uint32_t seed) : random_(seed) {}

  [[nodiscard]] Bytes activation(const GraphNode& node) {
    const Case& request = node.request;
    if (request.operation == CaseOperation::log_softmax_backward) {
      const double shift = -2 - std::log(static_cast<double>(axis_length(request)));
      return draw(node.activation(), [&] { return 2 * normal_(random_) + shift; });
    }
    return draw(node.activation(), [&] {
      const double x = 3 * normal_(random_);
      return x > 0 || !request.use_dst ? x : request.alpha * std::expm1(x);
    });
  }

  [[nodiscard]] Bytes diff_dst(const GraphNode& node) {
    return draw(node.diff_dst(), [&] { return normal_(random_); });
  }

 private:
  /// All of the memory that a tensor spans, what lies between its elements too.
  template <typename Next>
  [[nodiscard]] static Bytes draw(const TensorDesc& desc, Next next) {
    std::vector<float> values(span_of(desc));
    for (float& value : values) value = static_cast<float>(next());
    return encode(values, desc.dtype());
  }

  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

std::vector<float> elements(const Bytes& memory, const TensorDesc& desc) {
  return gather(decode(memory, desc.dtype()), desc);
}

/// A kernel for a node, whichever operation it is of, with its inputs.
using Run = std::function<void(Bytes& diff_src)>;

struct Kernel {
  Isa isa;
  Run run;
};

Kernel make_kernel(KernelFactory& factory, const GraphNode& node, const Bytes& activation,
                   const Bytes& diff_dst) {
  if (node.request.operation == CaseOperation::elu_backward) {
    const EluBackwardKernel kernel = factory.elu_backward(node.elu_attributes(), node.elu_tensors());
    const bool use_dst = node.request.use_dst;
    return {kernel.isa(), [&, kernel, use_dst](Bytes& diff_src) {
              EluBackwardArgs args{.diff_dst = diff_dst.data(), .diff_src = diff_src.data()};
              (use_dst ? args.dst : args.src) = activation.data();
              kernel.run(args);
            }};
  }
  const LogSoftmaxBackwardKernel kernel =
      factory.log_softmax_backward(node.log_softmax_attributes(), node.log_softmax_tensors());
  return {kernel.isa(), [&, kernel](Bytes& diff_src) {
            kernel.run({.diff_dst = diff_dst.data(), .dst = activation.data(), .diff_src = diff_src.data()});
          }};
}

}  // namespace

CheckedNode check_node(const GraphNode& node, std::uint32_t seed, KernelFactory& portable,
                       std::span<const std::unique_ptr<KernelFactory>> factories) {
  Values values(seed);
  const Bytes activation = values.activation(node);
  const Bytes diff_dst = values.diff_dst(node);
  // The bytes to overwrite: what a kernel leaves out must not pass for a result.
  const Bytes untouched(span_of(node.diff_src()) * size_of(node.dtype), std::byte{0xa5});

  Case request = node.request;
  request.activation = elements(activation, node.activation());
  request.diff_dst = elements(diff_dst, node.diff_dst());
  const Reference reference(request, node.dtype, request.activation, request.diff_dst);

  Bytes diff_src = untouched;
  make_kernel(portable, node, activation, diff_dst).run(diff_src);
  const std::vector<float> expected_bits = elements(diff_src, node.diff_src());
  CheckedNode checked{
      .node = node, .limit = reference.limit(), .unbounded = reference.unbounded(), .runs = {}};
  for (const std::unique_ptr<KernelFactory>& factory : factories) {
    const Kernel kernel = make_kernel(*factory, node, activation, diff_dst);
    NodeRun run{.judged = {.isa = kernel.isa}};
    diff_src = untouched;
    kernel.run(diff_src);
    judge(run.judged, reference, elements(diff_src, node.diff_src()), expected_bits);
    run.microseconds = time_calls([&] { kernel.run(diff_src); });
    checked.runs.push_back(run);
  }
  return checked;
}

}  // namespace gradjit::tool
