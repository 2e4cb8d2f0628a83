#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <sstream>

#include "jit/kernel_spec.hpp"
#include "src/cache/kernel_cache.hpp"
#include "src/execute/kernel_state.hpp"
#include "src/portable/portable.hpp"
#include "tests/support/element_bits.hpp"
#include "tests/support/executors.hpp"
#include "tests/support/kernel_case.hpp"
#include "tests/support/strided_case.hpp"
#include "tests/support/strided_memory.hpp"

namespace gradjit::test {
namespace {

using Bytes = std::vector<std::byte>;

jit::KernelSpec base_spec(const StridedCase& c) {
  jit::KernelSpec spec;
  spec.dtype = c.dtype;
  spec.use_dst = c.use_dst;
  spec.alpha_bits = c.is_elu ? std::bit_cast<std::uint32_t>(c.alpha) : 0;
  return spec;
}

/// One row or column, dense, by the rules: which loop, and segments whose totals are added in order.
void run_line(jit::KernelSpec spec, bool is_innermost, Bytes& activation, Bytes& diff_dst, Bytes& diff_src) {
  const auto size = static_cast<std::int64_t>(size_of(spec.dtype));
  const auto length = static_cast<std::int64_t>(activation.size()) / size;
  spec.operation = jit::Operation::log_softmax_backward;
  spec.loop = !is_innermost && length > 1        ? jit::Loop::columns
              : length <= jit::packed_rows_limit ? jit::Loop::packed_rows
                                                 : jit::Loop::rows;
  spec.axis_rest = static_cast<std::uint32_t>(length);
  if (spec.loop == jit::Loop::packed_rows) {
    detail::portable::run(spec, {.activation = activation.data(),
                                 .diff_dst = diff_dst.data(),
                                 .diff_src = diff_src.data(),
                                 .outer = 1});
    return;
  }
  jit::KernelArgs args{.outer = 1, .inner = 1, .axis_stride = {size, size, size}};
  const auto run_parts = [&](jit::Stage stage, const auto& after) {
    spec.stage = stage;
    for (std::int64_t begin = 0; begin < length; begin += jit::segment_length) {
      args.activation = activation.data() + begin * size;
      args.diff_dst = diff_dst.data() + begin * size;
      args.diff_src = diff_src.data() + begin * size;
      args.axis = std::min(jit::segment_length, length - begin);
      detail::portable::run(spec, args);
      after();
    }
  };
  std::array<double, 16> totals{};
  double sum = 0;
  args.totals = totals.data();
  run_parts(jit::Stage::sum, [&] {
    sum += totals[0];
    totals = {};
  });
  const std::array<float, 16> sums{static_cast<float>(sum)};
  args.sums = sums.data();
  run_parts(jit::Stage::update, [] {});
}

/// The elements of EluBackward, in order.
void run_elements(const StridedCase& c, std::array<Bytes, 3>& line) {
  detail::portable::run(base_spec(c),
                        {.activation = line[0].data(),
                         .diff_dst = line[1].data(),
                         .diff_src = line[2].data(),
                         .outer = 1,
                         .inner = static_cast<std::int64_t>(line[0].size() / size_of(c.dtype))});
}

/// What differs between `memory`, that a kernel worked on, and `expected`. Where both have a NaN, `memory`
/// takes over the other's.
std::string difference_of(const StridedCase& c, const StridedMemory& memory, const StridedMemory& expected) {
  const std::vector<std::uint32_t> wanted = expected.elements(2);
  const std::vector<std::uint32_t> got = memory.elements(2);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (got[i] != wanted[i] && !(is_nan(c.dtype, got[i]) && is_nan(c.dtype, wanted[i]))) {
      std::ostringstream text;
      text << "element " << i << " is " << decode(c.dtype, got[i]) << ", the portable kernel's is "
           << decode(c.dtype, wanted[i]) << std::hex << " (bits " << got[i] << " and " << wanted[i] << ")";
      return text.str();
    }
  }
  memory.view(2).set_elements(wanted);
  for (std::size_t buffer = 0; buffer < 3; ++buffer) {
    if (!std::ranges::equal(memory.bytes(buffer), expected.bytes(buffer))) {
      return "bytes outside the result have changed in buffer " + std::to_string(buffer);
    }
  }
  return "";
}

}  // namespace

std::vector<std::uint32_t> portable_result(const StridedCase& c, const InputBits& inputs) {
  const auto& [activation, diff_dst] = inputs;
  const std::size_t size = size_of(c.dtype);
  const std::size_t axis = axis_of(c);
  const auto length = static_cast<std::size_t>(c.is_elu ? elements_of(c) : c.dims.empty() ? 1 : c.dims[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < c.dims.size() && !c.is_elu; ++i) {
    inner *= static_cast<std::size_t>(c.dims[i]);
  }
  std::vector<std::uint32_t> result(activation.size());
  std::array<Bytes, 3> line;
  line.fill(Bytes(length * size));
  for (std::size_t first = 0; first < activation.size(); ++first) {
    if (first / inner % length != 0) {
      continue;
    }
    for (std::size_t i = 0; i < length; ++i) {
      std::memcpy(&line[0][i * size], &activation[first + i * inner], size);
      std::memcpy(&line[1][i * size], &diff_dst[first + i * inner], size);
    }
    if (c.is_elu) {
      run_elements(c, line);
    } else {
      run_line(base_spec(c), inner == 1, line[0], line[1], line[2]);
    }
    for (std::size_t i = 0; i < length; ++i) {
      std::memcpy(&result[first + i * inner], &line[2][i * size], size);
    }
  }
  return result;
}

void run(const StridedCase& c, const std::array<std::byte*, 3>& first, KernelFactory& factory,
         Executor& executor) {
  const auto desc = [&](std::size_t tensor) { return TensorDesc(c.dtype, c.dims, c.strides[tensor]); };
  const bool in_place = c.sharing == Sharing::in_place || c.sharing == Sharing::all_in_place;
  const auto diff_src_desc = in_place ? std::nullopt : std::optional(desc(2));
  // In place, diff_src is null or diff_dst.
  void* diff_src = in_place && c.seed % 4 < 2 ? nullptr : first[2];
  const auto run_with_tiny_caches = [&](const auto& attributes, const auto& tensors) {
    detail::KernelCache cache(16);
    detail::KernelState state(detail::validated(attributes, tensors), factory.isa(), tiny_caches,
                              ExecutorRef(executor));
    state.load(cache);
    state.run({.activation = first[0], .diff_dst = first[1], .diff_src = diff_src});
  };
  if (c.is_elu) {
    const EluBackward attributes{.alpha = c.alpha, .use_dst = c.use_dst, .in_place = in_place};
    EluBackwardTensors tensors{.diff_dst = desc(1), .diff_src = diff_src_desc};
    EluBackwardArgs args{.diff_dst = first[1], .diff_src = diff_src};
    (c.use_dst ? tensors.dst : tensors.src) = desc(0);
    (c.use_dst ? args.dst : args.src) = first[0];
    c.has_tiny_caches ? run_with_tiny_caches(attributes, tensors)
                      : factory.elu_backward(attributes, tensors).run(args, executor);
  } else {
    const LogSoftmaxBackward attributes{.axis = c.axis, .in_place = in_place};
    const LogSoftmaxBackwardTensors tensors{.diff_dst = desc(1), .dst = desc(0), .diff_src = diff_src_desc};
    const LogSoftmaxBackwardArgs args{.diff_dst = first[1], .dst = first[0], .diff_src = diff_src};
    c.has_tiny_caches ? run_with_tiny_caches(attributes, tensors)
                      : factory.log_softmax_backward(attributes, tensors).run(args, executor);
  }
}

std::vector<Isa> all_isas() {
  std::vector<Isa> isas = emitted_isas();
  isas.insert(isas.begin(), Isa::portable);
  return isas;
}

Factories all_factories() {
  Factories factories;
  for (const Isa isa : all_isas()) {
    factories.push_back(std::make_unique<KernelFactory>(FactoryOptions{.max_isa = isa}));
  }
  return factories;
}

std::string difference(const StridedCase& c, const Factories& factories, Executor& executor) {
  const StridedMemory initial(c);
  // As they are in memory, where one value may be several elements.
  const InputBits inputs = {initial.elements(0), initial.elements(1)};
  const std::vector<std::uint32_t> result = portable_result(c, inputs);
  // All bytes as they must be: the result put in its place by hand.
  const StridedMemory expected = initial;
  expected.view(2).set_elements(result);
  for (const auto& factory : factories) {
    const StridedMemory memory = initial;
    run(c, {memory.at(0), memory.at(1), memory.at(2)}, *factory, executor);
    const std::string found = difference_of(c, memory, expected);
    if (!found.empty()) {
      return std::string(name_of(factory->isa())) + ": " + found;
    }
  }
  return check_bounds(c, inputs, result);
}

std::string failure_of(const StridedCase& c) {
  static std::map<Isa, Factories> factories;
  Factories& own = factories[c.isa];
  if (own.empty()) {
    own.push_back(std::make_unique<KernelFactory>(FactoryOptions{.max_isa = c.isa}));
  }
  ClaimedThreads executor(c.threads);
  return difference(c, own, executor);
}

}  // namespace gradjit::test
