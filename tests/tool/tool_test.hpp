#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gradjit::test {

/// What a run of the tool left.
struct ToolResult {
  int status = -1;  ///< The exit status, or -1 when a signal ended it.
  std::string out;
  std::string err;
};

using Arguments = std::vector<std::string>;
/// "NAME=value" entries, added to the environment.
using Environment = std::vector<std::string>;

/// A .npy file of little-endian floats, C order.
template <typename T>
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<T> values;
};

/// A directory of its own for every test, and the tool to run in it.
class ToolTest : public testing::Test {
 protected:
  ToolTest();
  ~ToolTest() override;
  ToolTest(const ToolTest&) = delete;
  ToolTest& operator=(const ToolTest&) = delete;

  [[nodiscard]] ToolResult run(const Arguments& arguments, const Environment& environment = {}) const;
  /// The same with stdout going to a file of the system.
  [[nodiscard]] ToolResult run_into(const std::string& file, const Arguments& arguments) const;

  /// The same, after what the file has.
  [[nodiscard]] ToolResult run_onto(const std::string& file, const Arguments& arguments) const;

  /// Expects exit status 2, nothing on stdout and one line on stderr, which holds `part`.
  void expect_refusal(const Arguments& arguments, const std::string& part,
                      const Environment& environment = {}) const;

  /// A name in the directory.
  [[nodiscard]] std::string path(const std::string& name) const { return (directory_ / name).string(); }
  /// Writes a file in the directory, and returns its path.
  std::string write(const std::string& name, const std::string& content) const;
  template <typename T>
  std::string write_array(const std::string& name, const Array<T>& array) const;
  /// How many files the directory holds.
  [[nodiscard]] std::size_t file_count() const;

 private:
  [[nodiscard]] ToolResult run_to(const std::string& file, int how, const Arguments& arguments) const;

  std::filesystem::path directory_;
  std::filesystem::path output_directory_;
};

[[nodiscard]] std::string read_file(const std::string& path);
/// The content of a .npy file of format 1.0 with this dictionary.
[[nodiscard]] std::string npy(const std::string& dictionary, const std::string& data);
/// `values` as they lie in memory.
template <typename T>
[[nodiscard]] std::string bytes_of(const std::vector<T>& values);
template <typename T>
[[nodiscard]] Array<T> read_array(const std::string& path);
/// The dictionary of a .npy file.
[[nodiscard]] std::string dictionary_of(const std::string& path);
/// A file of the recorded cases.
[[nodiscard]] std::string data_file(const std::string& name);

/// The isas that this machine has, portable included.
[[nodiscard]] std::vector<std::string> available_isas();
[[nodiscard]] bool has_isa(const std::string& name);

}  // namespace gradjit::test
