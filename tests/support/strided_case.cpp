#include "tests/support/strided_case.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <sstream>

#include "jit/kernel_spec.hpp"
#include "src/portable/element.hpp"
#include "src/portable/portable.hpp"

namespace gradjit::test {
namespace {

using Bytes = std::vector<std::byte>;

std::int64_t in_range(std::mt19937& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

bool one_in(std::mt19937& random, std::int64_t count) { return in_range(random, 1, count) == 1; }

std::int64_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

Dims random_dims(std::mt19937& random, std::int64_t elements) {
  Dims dims(static_cast<std::size_t>(one_in(random, 20) ? in_range(random, 0, 12) : in_range(random, 1, 4)));
  for (std::int64_t& size : dims) {
    size = one_in(random, 5) ? 1 : in_range(random, 1, one_in(random, 3) ? 70 : 9);
  }
  if (!dims.empty() && one_in(random, 2)) {
    dims[random() % dims.size()] = in_range(random, 1, elements);
  }
  while (product(dims) > elements) {
    std::int64_t& size = *std::max_element(dims.begin(), dims.end());
    size = (size + 1) / 2;
  }
  return dims;
}

/// Strides of a view that doesn't overlap itself: any order of dims, gaps and directions; as an input, now
/// and then broadcast.
Dims random_strides(std::mt19937& random, const Dims& dims, bool is_input) {
  if (one_in(random, 3)) {
    return dense_strides(dims);
  }
  std::vector<std::size_t> order(dims.size());
  std::iota(order.rbegin(), order.rend(), 0);
  if (one_in(random, 2)) {
    std::shuffle(order.begin(), order.end(), random);
  }
  Dims strides(dims.size());
  std::int64_t stride = one_in(random, 3) ? in_range(random, 1, 5) : 1;
  for (const std::size_t i : order) {
    strides[i] = one_in(random, 5) ? -stride : stride;
    stride *= dims[i] + (one_in(random, 3) ? in_range(random, 0, 3) : 0);
    if (is_input && one_in(random, 10)) {
      strides[i] = 0;
    }
  }
  return strides;
}

/// A buffer that just holds a tensor (twice, if another shares it), and where its element (0, …) lies.
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
  return {Bytes(first + static_cast<std::size_t>((high + 2) * size)), first};
}

/// Mostly numbers that training sees, with some of everything else.
float random_value(std::mt19937& random) {
  switch (random() % 40) {
    case 0:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    case 1:
      return std::array{0.0F, -0.0F, 1e-40F, -1e-40F, 3e38F, -3e38F, 88.0F, -104.0F}[random() % 8];
    default:
      return std::normal_distribution<float>(-1, 2)(random);
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
  Bytes dense(static_cast<std::size_t>(product(c.dims)) * size);
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
  spec.loop = !is_innermost && length > 1       ? jit::Loop::columns
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
  const auto axis = static_cast<std::size_t>(c.axis < 0 ? c.axis + std::max<std::int64_t>(1, std::ssize(c.dims))
                                                        : c.axis);
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

/// The buffers of one case. Those that share memory have one.
struct Memory {
  explicit Memory(const StridedCase& c) : strides(c.strides) {
    for (std::size_t tensor = 0; tensor < 3; ++tensor) {
      buffers[tensor] = buffer_for(c, strides[tensor]);
      at[tensor] = buffers[tensor].bytes.data() + buffers[tensor].first;
      std::mt19937 random(c.seed + static_cast<std::uint32_t>(tensor));
      const std::size_t size = size_of(c.dtype);
      Bytes& bytes = buffers[tensor].bytes;
      for (std::size_t i = c.misalignment; i + size <= bytes.size(); i += size) {
        store(c.dtype, &bytes[i], random_value(random));
      }
    }
    switch (c.sharing) {
      case Sharing::in_place:
      case Sharing::on_diff_dst:
        at[2] = at[1];
        break;
      case Sharing::on_activation:
        at[2] = at[0];
        break;
      case Sharing::same_inputs:
        at[0] = at[1];
        break;
      case Sharing::interleaved:
        at[2] = at[0] + size_of(c.dtype);
        break;
      case Sharing::none:
        break;
    }
  }

  std::array<Buffer, 3> buffers;
  std::array<Dims, 3> strides;
  std::array<std::byte*, 3> at;
};

void run(const StridedCase& c, const Memory& memory, KernelFactory& factory, Executor& executor) {
  const auto desc = [&](std::size_t tensor) { return TensorDesc(c.dtype, c.dims, c.strides[tensor]); };
  const bool in_place = c.sharing == Sharing::in_place;
  const auto diff_src_desc = in_place ? std::nullopt : std::optional(desc(2));
  void* diff_src = in_place ? nullptr : memory.at[2];
  if (c.is_elu) {
    EluBackwardTensors tensors{.diff_dst = desc(1), .diff_src = diff_src_desc};
    EluBackwardArgs args{.diff_dst = memory.at[1], .diff_src = diff_src};
    (c.use_dst ? tensors.dst : tensors.src) = desc(0);
    (c.use_dst ? args.dst : args.src) = memory.at[0];
    factory.elu_backward({.alpha = c.alpha, .use_dst = c.use_dst, .in_place = in_place}, tensors)
        .run(args, executor);
  } else {
    const auto kernel =
        factory.log_softmax_backward({.axis = c.axis, .in_place = in_place},
                                     {.diff_dst = desc(1), .dst = desc(0), .diff_src = diff_src_desc});
    kernel.run({.diff_dst = memory.at[1], .dst = memory.at[0], .diff_src = diff_src}, executor);
  }
}

}  // namespace

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

StridedCase random_case(std::mt19937& random, std::int64_t elements) {
  StridedCase c;
  c.is_elu = one_in(random, 2);
  c.dtype = static_cast<DataType>(random() % 3);
  c.dims = random_dims(random, elements);
  const auto rank = std::max<std::int64_t>(1, std::ssize(c.dims));
  c.axis = in_range(random, -rank, rank - 1);
  c.alpha = std::array{1.0F, 0.37F, 0.0F, 2.5F}[random() % 4];
  c.use_dst = c.is_elu && one_in(random, 2);
  c.sharing = static_cast<Sharing>(random() % 6);
  c.misalignment = one_in(random, 3) ? random() % 64 : 0;
  c.seed = static_cast<std::uint32_t>(random());
  c.strides = {random_strides(random, c.dims, c.sharing == Sharing::none),
               random_strides(random, c.dims, c.sharing == Sharing::none), random_strides(random, c.dims, false)};
  if (c.sharing == Sharing::in_place || c.sharing == Sharing::on_diff_dst) {
    c.strides[1] = c.strides[2];
  } else if (c.sharing == Sharing::on_activation) {
    c.strides[0] = c.strides[2];
  } else if (c.sharing == Sharing::same_inputs) {
    c.strides[0] = c.strides[1];
  } else if (c.sharing == Sharing::interleaved) {
    for (std::int64_t& stride : c.strides[2]) {
      stride *= 2;
    }
    c.strides[0] = c.strides[2];
  }
  return c;
}

std::string text_of(const StridedCase& c) {
  std::ostringstream text;
  const auto print = [&text](const Dims& dims) {
    text << "(";
    for (const std::int64_t size : dims) {
      text << " " << size;
    }
    text << " )";
  };
  text << (c.is_elu ? "elu" : "log_softmax") << " " << name_of(c.dtype) << " axis " << c.axis << " alpha "
       << c.alpha << " use_dst " << c.use_dst << " sharing " << static_cast<int>(c.sharing) << " misalignment "
       << c.misalignment << " seed " << c.seed << " dims ";
  print(c.dims);
  for (const Dims& strides : c.strides) {
    text << " strides ";
    print(strides);
  }
  return text.str();
}

std::string difference(const StridedCase& c, KernelFactory& factory, Executor& executor) {
  Memory memory(c);
  const Bytes result = expected_result(c, dense_copy(c, memory.at[0], c.strides[0]),
                                       dense_copy(c, memory.at[1], c.strides[1]));
  // All bytes as they must be: the result put in its place by hand.
  const std::size_t size = size_of(c.dtype);
  Memory expected(c);
  for (std::size_t i = 0; i < result.size() / size; ++i) {
    std::memcpy(expected.at[2] + place(c, c.strides[2], static_cast<std::int64_t>(i)), &result[i * size], size);
  }
  run(c, memory, factory, executor);
  for (std::size_t i = 0; i < result.size() / size; ++i) {
    const std::int64_t offset = place(c, c.strides[2], static_cast<std::int64_t>(i));
    const float got = load(c.dtype, memory.at[2] + offset);
    const float wanted = load(c.dtype, expected.at[2] + offset);
    if (got != got && wanted != wanted) {
      std::memcpy(expected.at[2] + offset, memory.at[2] + offset, size);
    } else if (std::memcmp(memory.at[2] + offset, expected.at[2] + offset, size) != 0) {
      std::ostringstream text;
      text << "element " << i << " is " << got << ", expected " << wanted;
      return text.str();
    }
  }
  for (std::size_t tensor = 0; tensor < 3; ++tensor) {
    if (memory.buffers[tensor].bytes != expected.buffers[tensor].bytes) {
      return "bytes outside the result have changed in buffer " + std::to_string(tensor);
    }
  }
  return "";
}

}  // namespace gradjit::test
