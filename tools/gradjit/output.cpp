#include "tools/gradjit/output.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

[[noreturn]] void fail() { throw BadInput(fmt::format("stdout: cannot write: {}", system_error())); }

void write(const void* data, std::size_t size) {
  if (std::fwrite(data, 1, size, stdout) != size) fail();
}

}  // namespace

void print(std::string_view text) { write(text.data(), text.size()); }

void print(std::span<const std::byte> bytes) { write(bytes.data(), bytes.size()); }

void flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail();
}

}  // namespace gradjit::tool
