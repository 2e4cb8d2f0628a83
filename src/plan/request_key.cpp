#include "src/plan/request_key.hpp"

#include <bit>

namespace gradjit::detail {
namespace {

/// Which of the factory's four functions was called.
enum class Form : std::uint8_t { elu, elu_tensors, log_softmax, log_softmax_tensors };

std::int64_t first_word(Form form, bool in_place, bool use_dst = false) {
  return static_cast<std::int64_t>(form) | (in_place ? 1 << 2 : 0) | (use_dst ? 1 << 3 : 0);
}

std::int64_t first_word(Form form, const EluBackward& attributes) {
  return first_word(form, attributes.in_place, attributes.use_dst);
}

std::int64_t alpha_word(const EluBackward& attributes) {
  return std::bit_cast<std::int32_t>(static_cast<float>(attributes.alpha));
}

}  // namespace

RequestKey::RequestKey(const EluBackward& attributes, const TensorDesc& desc) noexcept : RequestKey() {
  add(first_word(Form::elu, attributes));
  add(alpha_word(attributes));
  add(desc);
}

RequestKey::RequestKey(const EluBackward& attributes, const EluBackwardTensors& tensors) noexcept
    : RequestKey() {
  add(first_word(Form::elu_tensors, attributes));
  add(alpha_word(attributes));
  for (const auto* desc : {&tensors.src, &tensors.dst, &tensors.diff_dst, &tensors.diff_src}) {
    add(*desc);
  }
}

RequestKey::RequestKey(const LogSoftmaxBackward& attributes, const TensorDesc& desc) noexcept : RequestKey() {
  add(first_word(Form::log_softmax, attributes.in_place));
  add(attributes.axis);
  add(desc);
}

RequestKey::RequestKey(const LogSoftmaxBackward& attributes,
                       const LogSoftmaxBackwardTensors& tensors) noexcept
    : RequestKey() {
  add(first_word(Form::log_softmax_tensors, attributes.in_place));
  add(attributes.axis);
  for (const auto* desc : {&tensors.diff_dst, &tensors.dst, &tensors.diff_src}) {
    add(*desc);
  }
}

void RequestKey::add(const Dims& dims) noexcept {
  for (const std::int64_t dim : dims) {
    add(dim);
  }
}

// The first word of a tensor says how many follow, so that no two lists of tensors have the same words.
void RequestKey::add(const TensorDesc& desc) noexcept {
  const std::size_t rank = desc.dims().size();
  const std::size_t strides = desc.strides().size();
  is_whole_ = is_whole_ && rank <= max_rank && strides <= max_rank;
  if (!is_whole_) {
    return;
  }
  add(static_cast<std::int64_t>(1 + static_cast<std::size_t>(desc.dtype()) + (rank << 16) + (strides << 32)));
  add(desc.dims());
  add(desc.strides());
}

void RequestKey::add(const std::optional<TensorDesc>& desc) noexcept {
  if (desc) {
    add(*desc);
  } else {
    add(0);
  }
}

std::uint64_t RequestKey::hash() const noexcept {
  constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15;  // 2^64 divided by it: bits without a pattern.
  std::uint64_t hash = 0;
  for (const std::int64_t word : words()) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * golden_ratio;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace gradjit::detail
