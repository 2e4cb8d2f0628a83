#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include <gradjit/types.hpp>

namespace gradjit::tool {

/// The element types of .npy files that the tool knows: little-endian floats of 2, 4 and 8 bytes.
enum class NpyType : std::uint8_t { f2, f4, f8 };

/// "<f2", "<f4", "<f8".
[[nodiscard]] std::string_view name_of(NpyType type);
[[nodiscard]] std::size_t size_of(NpyType type);

/// What a .npy file holds.
struct NpyArray {
  NpyType type = NpyType::f4;
  bool fortran_order = false;  ///< The first dimension is the one whose elements are adjacent.
  Dims shape;
  std::vector<std::byte> bytes;

  [[nodiscard]] std::size_t elements() const { return bytes.size() / size_of(type); }
};

/// Reads format versions 1.0, 2.0 and 3.0. Throws `BadInput` that names the file for anything else that it
/// finds, missing and surplus bytes included.
[[nodiscard]] NpyArray read_npy(const std::filesystem::path& path);

/// Writes format version 1.0, completely or not at all.
void write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace gradjit::tool
