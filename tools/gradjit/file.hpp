#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gradjit::tool {

/// Reads a file, pipe or device from its start. Every failure throws `BadInput` that names the file.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// The next `limit` bytes, or fewer where the file ends. Memory grows with what is really there, so a
  /// damaged header that promises too much does no harm.
  [[nodiscard]] std::vector<std::byte> read_up_to(std::size_t limit);

 private:
  std::string name_;
  int descriptor_;
};

/// All of a text file of at most 64 MiB.
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

/// Writes `bytes` to `path`, completely or not at all: they go to a file beside it, which then takes its
/// place. What is no regular file, like a pipe, is written to directly; /dev/stdout, /dev/stderr and
/// /dev/fd/N are written where the file that is open stands.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Throws as `write_file` would, as far as can be told without writing `path` itself: before work that takes
/// long.
void expect_writable(const std::filesystem::path& path);

}  // namespace gradjit::tool
