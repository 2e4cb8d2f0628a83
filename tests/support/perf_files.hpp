#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gradjit::test {

/// A line of a perf map.
struct MapLine {
  std::uintptr_t address = 0;
  std::size_t size = 0;
  std::string name;
  bool operator==(const MapLine&) const = default;
};

[[nodiscard]] std::vector<MapLine> parse_map(const std::filesystem::path& path);
[[nodiscard]] MapLine expected_line(const std::string& name, const std::vector<std::uint8_t>& code);

/// Reads numbers, names and bytes off a jitdump file.
class JitDumpReader {
 public:
  explicit JitDumpReader(const std::filesystem::path& path);

  /// Fails the test unless the header comes next.
  void expect_header();
  /// Fails the test unless a record comes next that says this. Returns its timestamp.
  std::uint64_t expect_load(std::uint64_t index, const std::string& name,
                            const std::vector<std::uint8_t>& code);
  [[nodiscard]] bool at_end() const { return position_ >= bytes_.size(); }

 private:
  template <typename T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string take(std::size_t size);
  std::string take_name();

  std::string bytes_;
  std::size_t position_ = 0;
};

}  // namespace gradjit::test
