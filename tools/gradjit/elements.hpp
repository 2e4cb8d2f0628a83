#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gradjit/types.hpp>

#include "tools/gradjit/npy.hpp"

namespace gradjit::tool {

/// Elements as the library takes them.
using Bytes = std::vector<std::byte>;

/// Rounds to `dtype` (f32: copies).
[[nodiscard]] Bytes encode(std::span<const float> values, DataType dtype);
/// Exact.
[[nodiscard]] std::vector<float> decode(std::span<const std::byte> bytes, DataType dtype);

/// The elements of an f2 or f4 array in the order of the file. Exact.
[[nodiscard]] std::vector<float> floats_of(const NpyArray& array);
/// The elements of an f8 array in the order of the file.
[[nodiscard]] std::vector<double> doubles_of(const NpyArray& array);

/// The type of files that hold `dtype`: bf16, which NumPy lacks, lies in f4.
[[nodiscard]] NpyType file_type_of(DataType dtype);

}  // namespace gradjit::tool
