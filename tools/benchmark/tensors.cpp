#include "tools/benchmark/tensors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <span>
#include <vector>

#include "tools/gradjit/elements.hpp"

namespace gradjit::bench {
namespace {

/// Values repeat after so many elements, which no shape is a multiple of.
constexpr std::size_t period = 65521;

std::vector<float> draw(float low, float high) {
  std::minstd_rand generator(1);
  std::vector<float> values(period);
  for (float& value : values) {
    value = low + (high - low) * static_cast<float>(generator() - 1) / static_cast<float>(2147483645);
  }
  return values;
}

/// src or dst of ELU.
std::vector<float> elu_inputs(const Case& source) {
  // A factor of almost 1: anything else would take the gradients of repeated calls to zero by way of
  // subnormals, which are slow.
  if (source.in_place) return std::vector<float>(period, -1e-9F);
  std::vector<float> values = draw(-4, 4);
  if (source.use_dst) {
    for (float& value : values) value = value > 0 ? value : std::expm1(value);
  }
  return values;
}

/// dst of log-softmax: exp(dst) sums to about 1 along the axis, so that in place the sum of the gradients
/// goes to zero with the first call and stays there, up to rounding.
std::vector<float> log_softmax_inputs(const Case& source) {
  const auto length = static_cast<float>(source.shape.at(static_cast<std::size_t>(source.axis)));
  const float mean_exp = std::sinh(1.0F);  // of values between -1 and 1
  const float shift = -std::log(length * mean_exp);
  return draw(shift - 1, shift + 1);
}

void fill(std::span<std::byte> buffer, const std::vector<float>& values, DataType dtype) {
  const tool::Bytes bytes = tool::encode(values, dtype);
  for (std::size_t begin = 0; begin < buffer.size(); begin += bytes.size()) {
    std::memcpy(buffer.data() + begin, bytes.data(), std::min(bytes.size(), buffer.size() - begin));
  }
}

}  // namespace

Tensors::Buffer Tensors::allocate(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  void* pointer = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (pointer == nullptr) throw std::bad_alloc();
  return Buffer(static_cast<std::byte*>(pointer));
}

Tensors::Tensors(const Case& source) {
  const std::size_t bytes = static_cast<std::size_t>(source.extent()) * size_of(source.dtype);
  const bool is_elu = source.operation == Operation::elu_backward;
  input_ = allocate(bytes);
  diff_dst_ = allocate(bytes);
  diff_src_ = allocate(bytes);
  fill({input_.get(), bytes}, is_elu ? elu_inputs(source) : log_softmax_inputs(source), source.dtype);
  fill({diff_dst_.get(), bytes}, draw(-1, 1), source.dtype);
  std::memset(diff_src_.get(), 0, bytes);
}

}  // namespace gradjit::bench
