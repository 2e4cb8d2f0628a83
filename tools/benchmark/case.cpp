#include "tools/benchmark/case.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gradjit::bench {
namespace {

/// Strides that make the last dimension move slowest, and the first one fastest.
Dims column_major(const Dims& shape) {
  Dims strides;
  std::int64_t stride = 1;
  for (const std::int64_t size : shape) strides.push_back(std::exchange(stride, stride * size));
  return strides;
}

Dims row_major(const Dims& shape, std::int64_t inner_stride) {
  Dims strides(shape.size());
  std::int64_t stride = inner_stride;
  for (std::size_t i = shape.size(); i-- > 0;) strides[i] = std::exchange(stride, stride * shape[i]);
  return strides;
}

/// As row-major, but for the second dimension, which is innermost.
Dims channels_last(const Dims& shape) {
  Dims moved = shape;
  std::rotate(moved.begin() + 1, moved.begin() + 2, moved.end());
  Dims strides = row_major(moved, 1);
  std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
  return strides;
}

std::string name_of(const Layout& layout) {
  constexpr std::array names = {"", "_transposed", "_channels_last", "_three_orders"};
  const std::string order = names.at(static_cast<std::size_t>(layout.order));
  return layout.inner_stride == 1 ? order : fmt::format("{}_stride{}", order, layout.inner_stride);
}

}  // namespace

const char* name_of(Measures measures) {
  constexpr std::array names = {"run", "create", "hit", "hit_same_kernel", "hit_other_kernel"};
  return names.at(static_cast<std::size_t>(measures));
}

const char* name_of(Reference reference) {
  constexpr std::array names = {"none", "dense", "last_axis", "in_bf16", "one_thread"};
  return names.at(static_cast<std::size_t>(reference));
}

const char* name_of(Bound bound) {
  constexpr std::array names = {"onednn", "torch", "roofline", "reference", "ns"};
  return names.at(static_cast<std::size_t>(bound));
}

std::string Case::name() const {
  std::string text = measures == Measures::run ? "" : fmt::format("{}_", name_of(measures));
  text += fmt::format("{}_{}", tool::name_of(operation), gradjit::name_of(dtype));
  const bool is_elu = operation == Operation::elu_backward;
  if (is_elu) text += use_dst ? "_dst" : "_src";
  text += fmt::format("_{}", fmt::join(shape, "x"));
  if (!is_elu && axis + 1 != std::ssize(shape)) text += fmt::format("_axis{}", axis);
  if (in_place) text += "_in_place";
  text += name_of(layout);
  if (threads > 1 && measures == Measures::run) text += fmt::format("_{}_threads", threads);
  if (isa) text += fmt::format("_{}", gradjit::name_of(*isa));
  return text;
}

std::int64_t Case::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t Case::bytes() const { return elements() * static_cast<std::int64_t>(size_of(dtype)); }

std::array<Dims, 3> Case::strides() const {
  const Dims strides = row_major(shape, layout.inner_stride);
  switch (layout.order) {
    case Order::transposed:
      return {strides, column_major(shape), strides};
    case Order::channels_last:
      return {strides, channels_last(shape), strides};
    case Order::three_orders:
      return {column_major(shape), channels_last(shape), strides};
    case Order::row_major:
      break;
  }
  return {strides, strides, strides};
}

Case Case::reference_case() const {
  Case other = *this;
  other.reference = Reference::none;
  if (reference == Reference::dense) other.layout = {};
  if (reference == Reference::in_bf16) other.dtype = DataType::bf16;
  if (reference == Reference::last_axis) {
    std::rotate(other.shape.begin() + axis, other.shape.begin() + axis + 1, other.shape.end());
    other.axis = std::ssize(shape) - 1;
  }
  if (reference == Reference::one_thread) {
    other.threads = 1;
    if (measures != Measures::run) other.measures = Measures::hit;
  }
  return other;
}

}  // namespace gradjit::bench
