#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <gradjit/operations.hpp>
#include <gradjit/types.hpp>

#include "jit/kernel_spec.hpp"

namespace gradjit::detail {

/// The tensors as kernels know them. `activation` is src or dst.
enum Tensor : std::size_t { activation, diff_dst, diff_src };
inline constexpr std::size_t tensor_count = 3;
template <typename T>
using PerTensor = std::array<T, tensor_count>;

/// One dimension: its size, and by how much each tensor moves along it. (Without initialisers, so that a
/// list of them costs nothing to make.)
struct Dim {
  std::int64_t size;
  PerTensor<std::int64_t> stride;
};

/// Some dimensions, outermost first; no allocation.
class DimList {
 public:
  DimList() {}  // NOLINT(modernize-use-equals-default): that would fill the array.
  DimList(const DimList& other) : DimList() { *this = other; }
  DimList& operator=(const DimList& other) {
    count_ = other.count_;
    for (std::size_t i = 0; i < count_; ++i) {
      dims_[i] = other.dims_[i];
    }
    return *this;
  }
  ~DimList() = default;

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  Dim& operator[](std::size_t index) { return dims_[index]; }
  const Dim& operator[](std::size_t index) const { return dims_[index]; }
  Dim& back() { return dims_[count_ - 1]; }
  [[nodiscard]] const Dim& back() const { return dims_[count_ - 1]; }
  Dim* begin() { return dims_.data(); }
  Dim* end() { return dims_.data() + count_; }
  [[nodiscard]] const Dim* begin() const { return dims_.data(); }
  [[nodiscard]] const Dim* end() const { return dims_.data() + count_; }

  void push_back(const Dim& dim) { dims_[count_++] = dim; }
  /// Adds one, with anything in it.
  Dim& append() { return dims_[count_++]; }
  /// Drops what lies beyond the first `count`.
  void truncate(std::size_t count) { count_ = count_ < count ? count_ : count; }

 private:
  std::size_t count_ = 0;
  std::array<Dim, max_rank> dims_;
};

/// What a caller asked for, validated. Strides are in elements; in place, diff_src's are diff_dst's.
struct Request {
  jit::Operation operation = jit::Operation::elu_backward;
  DataType dtype = DataType::f32;
  bool use_dst = false;
  bool in_place = false;
  std::uint32_t alpha_bits = 0;  ///< EluBackward's; -0 is +0 here.
  std::size_t axis = 0;          ///< LogSoftmaxBackward's, among `dims`.
  std::int64_t elements = 1;     ///< The product of the dims.
  /// The caller's dims. Those of dense tensors come merged: into one for EluBackward, into those before
  /// the axis, the axis, and those after it for LogSoftmaxBackward. Empty when there are no elements.
  DimList dims;
};

/// These check a request and throw `Error` (invalid_argument) that names the argument, its value and what
/// was expected. With one description for all tensors, messages call it "desc".
[[nodiscard]] Request validated(const EluBackward& attributes, const TensorDesc& desc);
[[nodiscard]] Request validated(const EluBackward& attributes, const EluBackwardTensors& tensors);
[[nodiscard]] Request validated(const LogSoftmaxBackward& attributes, const TensorDesc& desc);
[[nodiscard]] Request validated(const LogSoftmaxBackward& attributes,
                                const LogSoftmaxBackwardTensors& tensors);

}  // namespace gradjit::detail
