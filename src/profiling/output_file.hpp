#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace gradjit::detail {

/// A file that records are appended to, each in one piece.
class OutputFile {
 public:
  enum class Start : bool { as_it_is, emptied };

  /// Creates the file, or opens it. Throws std::system_error.
  OutputFile(const std::filesystem::path& path, Start start);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws std::system_error.
  void append(std::span<const std::byte> bytes) const;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace gradjit::detail
