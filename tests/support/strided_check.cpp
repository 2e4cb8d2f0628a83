#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

#include "jit/kernel_spec.hpp"
#include "src/cpu/probe.hpp"
#include "src/portable/element.hpp"
#include "src/portable/portable.hpp"
#include "tests/support/strided_case.hpp"

namespace gradjit::test {
namespace {

using Bytes = std::vector<std::byte>;

std::int64_t elements_of(const StridedCase& c) {
  std::int64_t elements = 1;
  for (const std::int64_t size : c.dims) {
    elements *= size;
  }
  return elements;
}

/// A buffer that just holds a tensor (and another between its elements, if so), and where its element
/// (0, …) lies.
struct Buffer {
  Bytes bytes;
  std::size_t first = 0;
};

Buffer buffer_for(const StridedCase& c, const Dims& strides) {
  const auto size = static_cast<std::int64_t>(size_of(c.dtype));
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t i = 0; i < c.dims.size(); ++i) {
    (strides[i] < 0 ? low : high) += strides[i] * (c.dims[i] - 1);
  }
  const auto first = static_cast<std::size_t>(-low * size) + c.misalignment;
  const std::int64_t after = high + (c.sharing == Sharing::interleaved ? 2 : 1);
  return {Bytes(first + static_cast<std::size_t>(after * size)), first};
}

/// Mostly numbers that training sees, with some of everything else.
float random_value(std::mt19937& random) {
  switch (random() % 40) {
    case 0:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    case 1:
      return std::array{0.0F, -0.0F, 1e-40F, -1e-40F, 3e38F, -3e38F, 88.0F, -104.0F}[random() % 8];
    default:
      return static_cast<float>(static_cast<std::int32_t>(random())) * 0x1.8p-30F - 1;
  }
}

void store(DataType dtype, std::byte* to, float value) {
  using namespace detail::portable;
  switch (dtype) {
    case DataType::f32:
      return Element<DataType::f32>::store(to, value);
    case DataType::bf16:
      return Element<DataType::bf16>::store(to, value);
    case DataType::f16:
      return Element<DataType::f16>::store(to, value);
  }
}

float load(DataType dtype, const std::byte* from) {
  using namespace detail::portable;
  switch (dtype) {
    case DataType::f32:
      return Element<DataType::f32>::load(from);
    case DataType::bf16:
      return Element<DataType::bf16>::load(from);
    default:
      return Element<DataType::f16>::load(from);
  }
}

/// Where element number `index`, in row-major order, lies in bytes.
std::int64_t place(const StridedCase& c, const Dims& strides, std::int64_t index) {
  std::int64_t offset = 0;
  for (std::size_t i = c.dims.size(); i-- > 0;) {
    offset += index % c.dims[i] * strides[i];
    index /= c.dims[i];
  }
  return offset * static_cast<std::int64_t>(size_of(c.dtype));
}

/// The tensor's elements in row-major order.
Bytes dense_copy(const StridedCase& c, const std::byte* tensor, const Dims& strides) {
  const std::size_t size = size_of(c.dtype);
  Bytes dense(static_cast<std::size_t>(elements_of(c)) * size);
  for (std::size_t i = 0; i < dense.size() / size; ++i) {
    std::memcpy(&dense[i * size], tensor + place(c, strides, static_cast<std::int64_t>(i)), size);
  }
  return dense;
}

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
  run_parts(jit::Stage::sum, [&] { sum += totals[0]; });
  const std::array<float, 16> sums{static_cast<float>(sum)};
  args.sums = sums.data();
  run_parts(jit::Stage::update, [] {});
}

/// The result in row-major order.
Bytes expected_result(const StridedCase& c, const Bytes& activation, const Bytes& diff_dst) {
  Bytes result(activation.size());
  const std::size_t size = size_of(c.dtype);
  if (c.is_elu) {
    detail::portable::run(base_spec(c), {.activation = activation.data(),
                                         .diff_dst = diff_dst.data(),
                                         .diff_src = result.data(),
                                         .outer = 1,
                                         .inner = static_cast<std::int64_t>(activation.size() / size)});
    return result;
  }
  const auto axis =
      static_cast<std::size_t>(c.axis < 0 ? c.axis + std::max<std::int64_t>(1, std::ssize(c.dims)) : c.axis);
  const auto length = c.dims.empty() ? 1 : static_cast<std::size_t>(c.dims[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < c.dims.size(); ++i) {
    inner *= static_cast<std::size_t>(c.dims[i]);
  }
  std::array<Bytes, 3> line;
  line.fill(Bytes(length * size));
  for (std::size_t first = 0; first < activation.size() / size; ++first) {
    if (first / inner % length != 0) {
      continue;
    }
    for (std::size_t i = 0; i < length; ++i) {
      std::memcpy(&line[0][i * size], &activation[(first + i * inner) * size], size);
      std::memcpy(&line[1][i * size], &diff_dst[(first + i * inner) * size], size);
    }
    run_line(base_spec(c), inner == 1, line[0], line[1], line[2]);
    for (std::size_t i = 0; i < length; ++i) {
      std::memcpy(&result[(first + i * inner) * size], &line[2][i * size], size);
    }
  }
  return result;
}

/// The buffers of one case, filled. Where tensors share memory, not all are used.
class Memory {
 public:
  explicit Memory(const StridedCase& c) : sharing_(c.sharing), element_size_(size_of(c.dtype)) {
    std::mt19937 random(c.seed);
    for (std::size_t tensor = 0; tensor < 3; ++tensor) {
      buffers_[tensor] = buffer_for(c, c.strides[tensor]);
      Bytes& bytes = buffers_[tensor].bytes;
      for (std::size_t i = c.misalignment; i + element_size_ <= bytes.size(); i += element_size_) {
        store(c.dtype, &bytes[i], random_value(random));
      }
    }
  }

  /// Where the tensor's element (0, …) is.
  [[nodiscard]] std::byte* at(std::size_t tensor) {
    Buffer& buffer = buffers_[buffer_of(tensor)];
    const bool is_second = tensor == 2 && sharing_ == Sharing::interleaved;
    return buffer.bytes.data() + buffer.first + (is_second ? element_size_ : 0);
  }

  [[nodiscard]] const Bytes& bytes(std::size_t buffer) const { return buffers_[buffer].bytes; }

 private:
  [[nodiscard]] std::size_t buffer_of(std::size_t tensor) const {
    switch (sharing_) {
      case Sharing::in_place:
      case Sharing::on_diff_dst:
        return tensor == 2 ? 1 : tensor;
      case Sharing::on_activation:
      case Sharing::interleaved:
        return tensor == 2 ? 0 : tensor;
      case Sharing::same_inputs:
        return tensor == 0 ? 1 : tensor;
      default:
        return tensor;
    }
  }

  Sharing sharing_;
  std::size_t element_size_;
  std::array<Buffer, 3> buffers_;
};

void run(const StridedCase& c, Memory& memory, KernelFactory& factory, Executor& executor) {
  const auto desc = [&](std::size_t tensor) { return TensorDesc(c.dtype, c.dims, c.strides[tensor]); };
  const bool in_place = c.sharing == Sharing::in_place;
  const auto diff_src_desc = in_place ? std::nullopt : std::optional(desc(2));
  void* diff_src = in_place ? nullptr : memory.at(2);
  if (c.is_elu) {
    EluBackwardTensors tensors{.diff_dst = desc(1), .diff_src = diff_src_desc};
    EluBackwardArgs args{.diff_dst = memory.at(1), .diff_src = diff_src};
    (c.use_dst ? tensors.dst : tensors.src) = desc(0);
    (c.use_dst ? args.dst : args.src) = memory.at(0);
    factory.elu_backward({.alpha = c.alpha, .use_dst = c.use_dst, .in_place = in_place}, tensors)
        .run(args, executor);
  } else {
    const auto kernel =
        factory.log_softmax_backward({.axis = c.axis, .in_place = in_place},
                                     {.diff_dst = desc(1), .dst = desc(0), .diff_src = diff_src_desc});
    kernel.run({.diff_dst = memory.at(1), .dst = memory.at(0), .diff_src = diff_src}, executor);
  }
}

/// The first byte that differs. Where both have a NaN, `expected` takes over the other's.
std::string difference_of(const StridedCase& c, Memory& memory, Memory& expected) {
  const std::size_t size = size_of(c.dtype);
  for (std::int64_t i = 0; i < elements_of(c); ++i) {
    const std::int64_t offset = place(c, c.strides[2], i);
    if (std::memcmp(memory.at(2) + offset, expected.at(2) + offset, size) == 0) {
      continue;
    }
    const float got = load(c.dtype, memory.at(2) + offset);
    const float wanted = load(c.dtype, expected.at(2) + offset);
    if (got == got || wanted == wanted) {
      std::ostringstream text;
      text << "element " << i << " is " << got << ", expected " << wanted;
      return text.str();
    }
    std::memcpy(expected.at(2) + offset, memory.at(2) + offset, size);
  }
  for (std::size_t tensor = 0; tensor < 3; ++tensor) {
    if (memory.bytes(tensor) != expected.bytes(tensor)) {
      return "bytes outside the result have changed in buffer " + std::to_string(tensor);
    }
  }
  return "";
}

}  // namespace

Factories all_factories() {
  Factories factories;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_bf16}) {
    if (isa <= detail::effective_isa(std::nullopt)) {
      factories.push_back(std::make_unique<KernelFactory>(FactoryOptions{.max_isa = isa}));
    }
  }
  return factories;
}

std::string difference(const StridedCase& c, const Factories& factories, Executor& executor) {
  Memory initial(c);
  const Bytes result = expected_result(c, dense_copy(c, initial.at(0), c.strides[0]),
                                       dense_copy(c, initial.at(1), c.strides[1]));
  // All bytes as they must be: the result put in its place by hand.
  const std::size_t size = size_of(c.dtype);
  Memory expected = initial;
  for (std::size_t i = 0; i < result.size() / size; ++i) {
    std::memcpy(expected.at(2) + place(c, c.strides[2], static_cast<std::int64_t>(i)), &result[i * size],
                size);
  }
  for (const auto& factory : factories) {
    Memory memory = initial;
    run(c, memory, *factory, executor);
    const std::string found = difference_of(c, memory, expected);
    if (!found.empty()) {
      return std::string(name_of(factory->isa())) + ": " + found;
    }
  }
  return "";
}

}  // namespace gradjit::test
