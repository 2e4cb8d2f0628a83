#pragma once

#include <filesystem>
#include <string>

namespace gradjit::test {

/// An empty directory, removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Writes a file below it, and the directories on the way.
  void write(const std::filesystem::path& relative, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

/// The whole of a file; empty if there is none.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace gradjit::test
