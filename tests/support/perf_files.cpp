#include "tests/support/perf_files.hpp"

#include <elf.h>
#include <unistd.h>

#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace gradjit::test {

std::vector<MapLine> parse_map(const std::filesystem::path& path) {
  std::vector<MapLine> lines;
  std::istringstream file(read_file(path));
  for (std::string line; std::getline(file, line);) {
    MapLine parsed;
    std::istringstream stream(line);
    stream >> std::hex >> parsed.address >> parsed.size;
    stream.get();
    std::getline(stream, parsed.name);
    lines.push_back(parsed);
  }
  return lines;
}

MapLine expected_line(const std::string& name, const std::vector<std::uint8_t>& code) {
  return {reinterpret_cast<std::uintptr_t>(code.data()), code.size(), name};
}

JitDumpReader::JitDumpReader(const std::filesystem::path& path) : bytes_(read_file(path)) {}

std::string JitDumpReader::take(std::size_t size) {
  std::string piece = position_ < bytes_.size() ? bytes_.substr(position_, size) : "";
  piece.resize(size);
  position_ += size;
  return piece;
}

std::string JitDumpReader::take_name() {
  std::string name = at_end() ? "" : bytes_.c_str() + position_;
  position_ += name.size() + 1;
  return name;
}

void JitDumpReader::expect_header() {
  EXPECT_EQ(number<std::uint32_t>(), 0x4a695444U);  // magic
  EXPECT_EQ(number<std::uint32_t>(), 1U);           // version
  EXPECT_EQ(number<std::uint32_t>(), 40U);          // size of the header
  EXPECT_EQ(number<std::uint32_t>(), std::uint32_t{EM_X86_64});
  EXPECT_EQ(number<std::uint32_t>(), 0U);  // padding
  EXPECT_EQ(number<std::uint32_t>(), static_cast<std::uint32_t>(getpid()));
  EXPECT_GT(number<std::uint64_t>(), 0U);  // timestamp
  EXPECT_EQ(number<std::uint64_t>(), 0U);  // flags
  EXPECT_EQ(position_, 40U);
}

std::uint64_t JitDumpReader::expect_load(std::uint64_t index, const std::string& name,
                                         const std::vector<std::uint8_t>& code) {
  const std::size_t start = position_;
  EXPECT_EQ(number<std::uint32_t>(), 0U);  // JIT_CODE_LOAD
  const auto size = number<std::uint32_t>();
  const auto timestamp = number<std::uint64_t>();
  EXPECT_EQ(number<std::uint32_t>(), static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(number<std::uint32_t>(), static_cast<std::uint32_t>(gettid()));
  const auto address = reinterpret_cast<std::uintptr_t>(code.data());
  EXPECT_EQ(number<std::uint64_t>(), address);
  EXPECT_EQ(number<std::uint64_t>(), address);
  EXPECT_EQ(number<std::uint64_t>(), code.size());
  EXPECT_EQ(number<std::uint64_t>(), index);
  EXPECT_EQ(take_name(), name);
  const std::string bytes = take(code.size());
  EXPECT_EQ(std::memcmp(bytes.data(), code.data(), code.size()), 0);
  EXPECT_EQ(position_ - start, size);
  return timestamp;
}

}  // namespace gradjit::test
