#include "tests/support/code_blocks.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

namespace gradjit::test {

// mov eax, value; ret; int3 up to `size`.
Block store_returning(std::uint32_t value, std::size_t size) {
  std::vector<std::uint8_t> bytes(std::max<std::size_t>(size, 6), 0xcc);
  bytes[0] = 0xb8;
  std::memcpy(&bytes[1], &value, sizeof value);
  bytes[5] = 0xc3;
  return detail::store_code(bytes);
}

std::uint32_t call(const Block& block) {
  using Function = std::uint32_t (*)();
  return reinterpret_cast<Function>(const_cast<std::uint8_t*>(block->data()))();
}

bool MappedRange::holds(const void* address) const {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return begin <= value && value < end;
}

bool MappedRange::is_chunk() const { return line.find("/memfd:gradjit") != std::string::npos; }

std::vector<MappedRange> read_maps() {
  std::vector<MappedRange> ranges;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    MappedRange range;
    char dash = 0;
    std::istringstream(line) >> std::hex >> range.begin >> dash >> range.end >> range.permissions;
    range.line = line;
    ranges.push_back(range);
  }
  return ranges;
}

bool madvise_works() {
  constexpr std::size_t size = 4096;
  void* const page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    throw std::runtime_error("mmap failed");
  }
  auto* const byte = static_cast<volatile unsigned char*>(page);
  *byte = 1;
  madvise(page, size, MADV_REMOVE);
  const bool removed = *byte == 0;
  munmap(page, size);
  return removed;
}

void expect_never_writable_and_executable(const std::vector<Block>& blocks) {
  const auto maps = read_maps();
  std::size_t found = 0;
  for (const MappedRange& range : maps) {
    const bool writable = range.permissions.at(1) == 'w';
    const bool executable = range.permissions.at(2) == 'x';
    if (range.is_chunk()) {
      EXPECT_NE(writable, executable) << range.line;
    }
    for (const Block& block : blocks) {
      if (range.holds(block->data())) {
        EXPECT_TRUE(executable && !writable) << range.line;
        ++found;
      }
    }
  }
  EXPECT_EQ(found, blocks.size());
}

}  // namespace gradjit::test
