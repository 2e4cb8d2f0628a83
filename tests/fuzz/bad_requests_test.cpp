// Random requests and calls with one mistake in each: gradjit::Error has to name the argument, and nothing
// may be written. And descriptions of any numbers at all, which must not do worse than be refused.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/gradjit.hpp>

#include "tests/fuzz/isolated.hpp"
#include "tests/support/strided_case.hpp"

namespace gradjit::test {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::int64_t in_range(std::mt19937& random, std::int64_t least, std::int64_t greatest) {
  return std::uniform_int_distribution<std::int64_t>(least, greatest)(random);
}

/// A request and a call, as a user writes them. Tensors are in the order src or dst, diff_dst, diff_src.
struct Call {
  bool is_elu = true;
  EluBackward elu{.alpha = 1};
  LogSoftmaxBackward log_softmax;
  std::array<std::optional<TensorDesc>, 3> descs;
  std::optional<TensorDesc> unused_desc;  ///< Of the one of src and dst that is not asked for.
  std::array<float*, 3> buffers{};
  float* unused_buffer = nullptr;

  void set_in_place() {
    elu.in_place = true;
    log_softmax.in_place = true;
    descs[2].reset();
    buffers[2] = nullptr;
  }

  [[nodiscard]] std::string name(std::size_t tensor) const {
    return tensor == 1 ? "diff_dst" : tensor == 2 ? "diff_src" : is_elu && !elu.use_dst ? "src" : "dst";
  }
};

void run(const Call& call, KernelFactory& factory) {
  if (!call.is_elu) {
    factory
        .log_softmax_backward(call.log_softmax,
                              {.diff_dst = call.descs[1], .dst = call.descs[0], .diff_src = call.descs[2]})
        .run({.diff_dst = call.buffers[1], .dst = call.buffers[0], .diff_src = call.buffers[2]});
    return;
  }
  const bool use_dst = call.elu.use_dst;
  factory
      .elu_backward(call.elu, {.src = use_dst ? call.unused_desc : call.descs[0],
                               .dst = use_dst ? call.descs[0] : call.unused_desc,
                               .diff_dst = call.descs[1],
                               .diff_src = call.descs[2]})
      .run({.src = use_dst ? call.unused_buffer : call.buffers[0],
            .dst = use_dst ? call.buffers[0] : call.unused_buffer,
            .diff_dst = call.buffers[1],
            .diff_src = call.buffers[2]});
}

/// A call that is right, but for its buffers: each tensor has elements, and a dim of 2 or more.
Call right_call(std::mt19937& random) {
  Call call;
  call.is_elu = random() % 2 == 0;
  call.elu.use_dst = random() % 2 == 0;
  Dims dims;
  for (std::int64_t rank = in_range(random, 1, 5); rank > 0; --rank) {
    dims.push_back(in_range(random, 2, 5));
  }
  call.log_softmax.axis = in_range(random, -std::ssize(dims), std::ssize(dims) - 1);
  call.descs.fill(TensorDesc(static_cast<DataType>(random() % 3), dims, dense_strides(dims)));
  return call;
}

// Each makes a mistake of its kind, and returns how the message has to start.

std::string wrong_dims(Call& call, std::mt19937& random) {
  const DataType dtype = call.descs[0]->dtype();
  Dims dims = call.descs[0]->dims();
  const std::size_t dim = random() % dims.size();
  const std::size_t later = 1 + random() % 2;  // The first is what the others are compared with.
  switch (random() % 4) {
    case 0:
      dims[dim] = random() % 2 == 0 ? -1 : std::numeric_limits<std::int64_t>::min();
      call.descs.fill(TensorDesc(dtype, dims));
      return call.name(0) + ".dims[" + std::to_string(dim) + "] is -";
    case 1:
      call.descs.fill(TensorDesc(dtype, Dims(13 + random() % 5, 1)));
      return call.name(0) + ".dims has 1";
    case 2:
      dims[dim] = random() % 2 == 0 ? most : std::int64_t{1} << 62;
      call.descs.fill(TensorDesc(dtype, dims));
      return call.name(0) + ".dims is (";
    default:
      dims[dim] += 1;
      call.descs[later].emplace(dtype, dims);
      return call.name(later) + ".dims is (";
  }
}

std::string wrong_strides(Call& call, std::mt19937& random) {
  const DataType dtype = call.descs[0]->dtype();
  const Dims dims = call.descs[0]->dims();
  Dims strides = dense_strides(dims);
  std::int64_t& stride = strides[random() % dims.size()];
  const std::size_t tensor = random() % 3;
  switch (random() % 3) {
    case 0:
      call.descs[tensor].emplace(dtype, dims, Dims(dims.size() + (random() % 2 == 0 ? 1 : 3), 1));
      return call.name(tensor) + ".strides has ";
    case 1:
      stride = random() % 2 == 0 ? std::numeric_limits<std::int64_t>::min() : most / 2;
      call.descs[tensor].emplace(dtype, dims, strides);
      return call.name(tensor) + ".strides is (";
    default:
      stride = 0;
      call.descs[2].emplace(dtype, dims, strides);
      return "diff_src.strides is (";
  }
}

std::string wrong_types_and_attributes(Call& call, std::mt19937& random) {
  const DataType dtype = call.descs[0]->dtype();
  const Dims dims = call.descs[0]->dims();
  const std::int64_t rank = std::ssize(dims);
  const std::size_t later = 1 + random() % 2;
  switch (random() % 4) {
    case 0:
      call.descs[later].emplace(static_cast<DataType>((static_cast<unsigned>(dtype) + 1) % 3), dims);
      return call.name(later) + ".dtype is ";
    case 1:
      call.descs.fill(TensorDesc(static_cast<DataType>(3 + random() % 200), dims));
      return call.name(0) + ".dtype is ";
    case 2:
      call.is_elu = false;
      call.log_softmax.axis =
          random() % 2 == 0 ? in_range(random, rank, most) : in_range(random, -most, -rank - 1);
      return "axis is " + std::to_string(call.log_softmax.axis);
    default:
      call.is_elu = true;
      call.elu.alpha = std::array{-1.0F, -1e-45F, -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN()}[random() % 4];
      return "alpha is ";
  }
}

std::string wrong_set_of_tensors(Call& call, std::mt19937& random) {
  const std::size_t tensor = random() % 3;
  switch (random() % 4) {
    case 0:
      call.descs[tensor].reset();
      return call.name(tensor) + " has no description";
    case 1: {
      const auto desc = call.descs[2];
      call.set_in_place();
      call.descs[2] = desc;
      return "diff_src has a description";
    }
    case 2:
      call.is_elu = true;
      call.unused_desc = call.descs[0];
      return std::string(call.elu.use_dst ? "src" : "dst") + " has a description";
    default:
      call.is_elu = true;
      call.unused_buffer = call.buffers[0];
      return std::string(call.elu.use_dst ? "src" : "dst") + " is 0x";
  }
}

std::string wrong_buffers(Call& call, std::mt19937& random) {
  const TensorDesc desc = *call.descs[0];
  const std::size_t tensor = random() % 3;
  switch (random() % 3) {
    case 0:
      call.buffers[tensor] = nullptr;
      return call.name(tensor) + " is null";
    case 1: {
      float* const other = call.buffers[2];
      call.set_in_place();
      call.buffers[2] = other;
      return "diff_src is 0x";
    }
    default: {
      // By at least a byte, by at most what leaves a byte of the last element.
      const auto bytes =
          static_cast<std::int64_t>(size_of(desc.dtype())) * elements_of({.dims = desc.dims()}) - 1;
      const std::int64_t shift = in_range(random, 1, bytes) * (random() % 2 == 0 ? 1 : -1);
      char* const input = reinterpret_cast<char*>(call.buffers[random() % 2]);
      call.buffers[2] = reinterpret_cast<float*>(input + shift);
      return "diff_src at 0x";
    }
  }
}

std::string make_mistake(Call& call, std::mt19937& random) {
  constexpr std::array kinds = {wrong_dims, wrong_strides, wrong_types_and_attributes, wrong_set_of_tensors,
                                wrong_buffers};
  return kinds[random() % kinds.size()](call, random);
}

std::string check_bad_call(std::size_t index) {
  static KernelFactory factory;
  std::mt19937 random(static_cast<std::uint32_t>(index));
  // Room for the largest tensor on each side, which calls that overlap need.
  constexpr std::size_t room = 3125;
  std::vector<float> memory(9 * room, 0.5F);
  Call call = right_call(random);
  for (std::size_t tensor = 0; tensor < 3; ++tensor) {
    call.buffers[tensor] = memory.data() + (1 + 3 * tensor) * room;
  }
  const std::string expected = make_mistake(call, random);
  try {
    run(call, factory);
    return "not refused: " + expected;
  } catch (const Error& error) {
    const std::string message = error.what();
    if (error.code() != ErrorCode::invalid_argument || !message.starts_with(expected)) {
      return "refused with '" + message + "', expected '" + expected + "…'";
    }
    if (message.find('\n') != std::string::npos || message.find("expected") == std::string::npos) {
      return "a message that is not one line with what was expected: " + message;
    }
  }
  return memory == std::vector<float>(9 * room, 0.5F) ? "" : "memory was written: " + expected;
}

TEST(BadRequests, AreRefusedWithTheArgumentNamed) {
  const auto found = first_failure(4000, check_bad_call);
  EXPECT_FALSE(found) << "request " << found->index << " " << found->failure;
}

/// A size or a stride that is likely to be at an edge of something.
std::int64_t edge(std::mt19937& random) {
  const std::int64_t power = std::int64_t{1} << random() % 63;
  const std::int64_t around = power + in_range(random, -1, 1);
  return std::array<std::int64_t, 6>{around, -around, 0, 1, in_range(random, -5, 5), most}[random() % 6];
}

std::string check_any_numbers(std::size_t index) {
  static KernelFactory factory({.max_isa = Isa::portable});
  std::mt19937 random(static_cast<std::uint32_t>(index));
  Call call = right_call(random);
  Dims dims;
  for (std::int64_t rank = in_range(random, 0, 13); rank > 0; --rank) {
    dims.push_back(random() % 2 == 0 ? edge(random) & most : edge(random));
  }
  for (auto& desc : call.descs) {
    Dims strides(random() % 4 == 0 ? 0 : dims.size());
    for (std::int64_t& stride : strides) {
      stride = edge(random);
    }
    desc.emplace(call.descs[0]->dtype(), dims, strides);
  }
  call.log_softmax.axis = random() % 2 == 0 ? edge(random) : 0;
  try {
    run(call, factory);  // With null pointers: at the latest, that is refused.
  } catch (const Error& error) {
    return error.code() == ErrorCode::invalid_argument ? "" : error.what();
  }
  const bool is_empty = std::ranges::find(dims, 0) != dims.end();
  return is_empty ? "" : "null pointers are accepted";
}

TEST(BadRequests, OfAnyNumbersDoNoHarm) {
  const auto found = first_failure(20'000, check_any_numbers);
  EXPECT_FALSE(found) << "request " << found->index << " " << found->failure;
}

}  // namespace
}  // namespace gradjit::test
