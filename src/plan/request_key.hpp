#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <gradjit/operations.hpp>
#include <gradjit/types.hpp>

namespace gradjit::detail {

/// A request as the caller wrote it, before anything is made of it: requests with equal keys are the same
/// request. (Requests that differ may still mean the same.)
class RequestKey {
 public:
  RequestKey(const EluBackward& attributes, const TensorDesc& desc) noexcept;
  RequestKey(const EluBackward& attributes, const EluBackwardTensors& tensors) noexcept;
  RequestKey(const LogSoftmaxBackward& attributes, const TensorDesc& desc) noexcept;
  RequestKey(const LogSoftmaxBackward& attributes, const LogSoftmaxBackwardTensors& tensors) noexcept;
  RequestKey(const RequestKey&) = delete;
  RequestKey& operator=(const RequestKey&) = delete;

  /// False if the rank is more than `max_rank`: no key holds such a request, and no kernel comes of it.
  [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }
  /// All of it. Needs `is_whole`.
  [[nodiscard]] std::span<const std::int64_t> words() const noexcept { return {words_.data(), count_}; }
  /// Of the words.
  [[nodiscard]] std::uint64_t hash() const noexcept;

 private:
  RequestKey() noexcept {}  // NOLINT(modernize-use-equals-default): that would fill the array.

  void add(std::int64_t word) noexcept { words_[count_++] = word; }
  void add(const Dims& dims) noexcept;
  void add(const TensorDesc& desc) noexcept;
  void add(const std::optional<TensorDesc>& desc) noexcept;

  static constexpr std::size_t most_tensors = 4;
  static constexpr std::size_t words_per_tensor = 1 + 2 * max_rank;

  bool is_whole_ = true;
  std::size_t count_ = 0;
  std::array<std::int64_t, 2 + most_tensors * words_per_tensor> words_;  ///< The first `count_` are set.
};

}  // namespace gradjit::detail
