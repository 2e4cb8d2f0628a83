#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <gradjit/export.hpp>

namespace gradjit {

/// Element types. `bf16` is the upper half of an IEEE binary32, `f16` is IEEE binary16.
enum class DataType : std::uint8_t { f32, bf16, f16 };

/// Instruction sets, each including those before it. `portable` is compiled C++ without generated code.
///
/// avx2 stands for AVX2, FMA and F16C; avx512 for AVX-512 F, BW, DQ and VL, with BMI2; avx512_bf16 adds
/// AVX512_BF16.
enum class Isa : std::uint8_t { portable, avx2, avx512, avx512_bf16 };

/// "f32", "bf16", "f16".
[[nodiscard]] GRADJIT_API std::string_view name_of(DataType dtype);

/// "portable", "avx2", "avx512", "avx512_bf16".
[[nodiscard]] GRADJIT_API std::string_view name_of(Isa isa);

/// The inverse of `name_of`. Throws `Error` (invalid_argument) that lists the valid names.
[[nodiscard]] GRADJIT_API DataType parse_data_type(std::string_view name);
[[nodiscard]] GRADJIT_API Isa parse_isa(std::string_view name);

/// The size of one element in bytes.
[[nodiscard]] constexpr std::size_t size_of(DataType dtype) { return dtype == DataType::f32 ? 4 : 2; }

/// Sizes or strides, in elements, outermost dimension first.
using Dims = std::vector<std::int64_t>;

/// The greatest rank that a tensor may have.
inline constexpr std::size_t max_rank = 12;

/// Describes a tensor: its element type, its dims and where its elements lie.
///
/// Element (i0, i1, …) lies `i0 * strides[0] + i1 * strides[1] + …` elements after the pointer given
/// to `run`. Empty strides mean dense row-major. Strides may be zero (an input broadcast along that
/// dimension) or negative (the pointer is that of element (0, 0, …)). The constructor checks nothing;
/// the factory does.
class TensorDesc {
 public:
  TensorDesc(DataType dtype, Dims dims, Dims strides = {})
      : dtype_(dtype), dims_(std::move(dims)), strides_(std::move(strides)) {}

  [[nodiscard]] DataType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Dims& dims() const noexcept { return dims_; }
  /// As given: empty means dense row-major.
  [[nodiscard]] const Dims& strides() const noexcept { return strides_; }

 private:
  DataType dtype_;
  Dims dims_;
  Dims strides_;
};

}  // namespace gradjit
