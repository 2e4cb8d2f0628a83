#pragma once

#include <cstdint>
#include <optional>

#include <gradjit/types.hpp>

namespace gradjit {

/// An attribute that must be given: leaving it out of the braces does not compile.
template <typename T>
class Required {
 public:
  constexpr Required(T value) : value_(value) {}
  constexpr operator T() const { return value_; }

 private:
  T value_;
};

/// The gradient of ELU, as oneDNN Graph's EluBackward defines it
/// (https://oneapi-src.github.io/oneDNN/dev_guide_op_elubackward.html). With g = diff_dst:
///
///     use_dst = false:  diff_src = g  where src > 0, else  g * alpha * exp(src)
///     use_dst = true:   diff_src = g  where dst > 0, else  g * (dst + alpha)
///
/// Error, in ulp of the type at the real-valued result: f32 from src 2.0, f32 from dst 1.5, f16 0.51,
/// bf16 0.505 (bf16 results below 2^-126 become zeros of their sign). A NaN in src, dst or diff_dst
/// gives a NaN where the result depends on it; which NaN differs between instruction sets. Where diff_dst is
/// infinite and exp(src) is 0 to f32, the result is infinite or NaN, the same on every path. `gradjit verify`
/// checks these bounds.
struct EluBackward {
  Required<float> alpha;  ///< Any f32 >= 0, +inf included.
  bool use_dst = true;    ///< Takes ELU's result (dst) in place of its argument (src).
  bool in_place = false;  ///< The result overwrites diff_dst.
};

/// The gradient of log-softmax, as oneDNN Graph's LogSoftmaxBackward defines it
/// (https://oneapi-src.github.io/oneDNN/dev_guide_op_logsoftmaxbackward.html). With g = diff_dst:
///
///     diff_src = g - exp(dst) * sum(g along axis)
///
/// Error in f32, for dst <= 88 and sum|g| < 2^127:
/// 2^-23 * (|g| + 4 * exp(dst) * sum|g|) + 2^-149 * (1 + |sum g|), for axes of up to 2^32 elements.
/// bf16 and f16 add one rounding to the type. `gradjit verify` checks these bounds. Outside of them, where
/// the sum or exp(dst) overflows, results may be infinite or NaN.
///
/// The order in which a sum is added up depends on the dims and the axis' place among them, never on strides,
/// threads or the instruction set: the same elements with the axis elsewhere may differ in the last bits.
struct LogSoftmaxBackward {
  std::int64_t axis = -1;  ///< In [-rank, rank - 1]; rank 0 takes 0 and -1.
  bool in_place = false;   ///< The result overwrites diff_dst.
};

/// One description per tensor of EluBackward. Dims and dtypes must agree, strides need not. Give `src`
/// (use_dst = false) or `dst` (use_dst = true), `diff_dst`, and `diff_src` unless in place.
struct EluBackwardTensors {
  std::optional<TensorDesc> src = std::nullopt;
  std::optional<TensorDesc> dst = std::nullopt;
  std::optional<TensorDesc> diff_dst = std::nullopt;
  std::optional<TensorDesc> diff_src = std::nullopt;
};

/// One description per tensor of LogSoftmaxBackward. Dims and dtypes must agree, strides need not. Give
/// `diff_src` unless in place.
struct LogSoftmaxBackwardTensors {
  std::optional<TensorDesc> diff_dst = std::nullopt;
  std::optional<TensorDesc> dst = std::nullopt;
  std::optional<TensorDesc> diff_src = std::nullopt;
};

/// The buffers of one EluBackward call. Any byte alignment works.
///
/// diff_src may be exactly diff_dst, or exactly src/dst (same pointer, same strides); inputs may share
/// memory; an output that shares elements in any other way is refused. Null is fine where there is
/// nothing to do (a zero-sized dimension). In place, diff_src is null or diff_dst, and the result
/// overwrites what diff_dst points to.
struct EluBackwardArgs {
  const void* src = nullptr;       ///< With use_dst = false; null otherwise.
  const void* dst = nullptr;       ///< With use_dst = true; null otherwise.
  const void* diff_dst = nullptr;  ///< Read only, unless in place.
  void* diff_src = nullptr;
};

/// The buffers of one LogSoftmaxBackward call, under the rules of `EluBackwardArgs`.
struct LogSoftmaxBackwardArgs {
  const void* diff_dst = nullptr;  ///< Read only, unless in place.
  const void* dst = nullptr;
  void* diff_src = nullptr;
};

}  // namespace gradjit
