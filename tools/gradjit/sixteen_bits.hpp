#pragma once

#include <cstdint>

namespace gradjit::tool {

// Conversions of the tool's own: `check` judges the library, so it doesn't lean on the library's.

/// Rounds to nearest, ties to even; subnormals are kept, NaN stays NaN.
[[nodiscard]] std::uint16_t bf16_from(float value);
[[nodiscard]] std::uint16_t f16_from(float value);

/// Exact.
[[nodiscard]] float float_from_bf16(std::uint16_t bits);
[[nodiscard]] float float_from_f16(std::uint16_t bits);

}  // namespace gradjit::tool
