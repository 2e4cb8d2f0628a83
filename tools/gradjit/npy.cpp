#include "tools/gradjit/npy.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/file.hpp"
#include "tools/gradjit/npy_header.hpp"
#include "tools/gradjit/text.hpp"

static_assert(std::endian::native == std::endian::little,
              ".npy files are read and written as they lie in memory");

namespace gradjit::tool {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::array<NpyType, 3> all_types = {NpyType::f2, NpyType::f4, NpyType::f8};

[[noreturn]] void refuse(const std::string& file, std::string_view what) {
  throw BadInput(fmt::format("{}: {}", file, what));
}

/// Exactly `size` bytes.
std::string read_exactly(InputFile& input, const std::string& file, std::size_t size, std::string_view part) {
  const std::vector<std::byte> bytes = input.read_up_to(size);
  if (bytes.size() < size) refuse(file, fmt::format("not a complete .npy file: it ends in its {}", part));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

NpyHeader read_header(InputFile& input, const std::string& file) {
  const std::vector<std::byte> start = input.read_up_to(magic.size());
  if (start.size() != magic.size() || std::memcmp(start.data(), magic.data(), magic.size()) != 0) {
    refuse(file, "not a .npy file: it doesn't start with \\x93NUMPY");
  }
  const std::string format = read_exactly(input, file, 2, "version");
  const int major = static_cast<unsigned char>(format[0]);
  const int minor = static_cast<unsigned char>(format[1]);
  if (major < 1 || major > 3 || minor != 0) {
    refuse(file, fmt::format(".npy format {}.{} is unknown; 1.0, 2.0 and 3.0 are read", major, minor));
  }
  const std::string size = read_exactly(input, file, major == 1 ? 2 : 4, "header");
  return parse_npy_header(read_exactly(input, file, little_endian(size), "header"));
}

NpyType type_of(const std::string& descr) {
  for (const NpyType type : all_types) {
    if (descr == name_of(type)) return type;
  }
  const bool big_endian = descr.starts_with('>');
  throw NpyHeaderError(
      fmt::format("{}elements of type '{}' are not supported; '<f4', '<f2' and, for expected "
                  "results, '<f8' are",
                  big_endian ? "big-endian " : "", descr));
}

/// How many bytes the elements take, unless that overflows.
std::optional<std::size_t> bytes_of(const Dims& shape, NpyType type) {
  for (const std::int64_t size : shape) {
    if (size == 0) return 0;
  }
  auto bytes = static_cast<std::int64_t>(size_of(type));
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return static_cast<std::size_t>(bytes);
}

NpyArray read_array(InputFile& input, const std::string& file) {
  NpyHeader header = read_header(input, file);
  NpyArray array{.type = type_of(header.descr),
                 .fortran_order = header.fortran_order,
                 .shape = std::move(header.shape),
                 .bytes = {}};
  const std::optional<std::size_t> size = bytes_of(array.shape, array.type);
  if (!size)
    refuse(file, fmt::format("shape {} has more bytes than 63 bits count", format_shape(array.shape)));
  array.bytes = input.read_up_to(*size);
  if (array.bytes.size() < *size) {
    refuse(file, fmt::format("shape {} of '{}' takes {} bytes, the file holds {}", format_shape(array.shape),
                             name_of(array.type), *size, array.bytes.size()));
  }
  if (!input.read_up_to(1).empty()) {
    refuse(file, fmt::format("there are bytes after the {} that shape {} of '{}' takes", *size,
                             format_shape(array.shape), name_of(array.type)));
  }
  return array;
}

}  // namespace

std::string_view name_of(NpyType type) {
  constexpr std::array<std::string_view, 3> names = {"<f2", "<f4", "<f8"};
  return names[static_cast<std::size_t>(type)];
}

std::size_t size_of(NpyType type) { return std::size_t{2} << static_cast<unsigned>(type); }

NpyArray read_npy(const std::filesystem::path& path) {
  const std::string file = path.string();
  InputFile input(path);
  try {
    return read_array(input, file);
  } catch (const NpyHeaderError& error) {
    refuse(file, error.what());
  }
}

void write_npy(const std::filesystem::path& path, const NpyArray& array) {
  std::string header = format_npy_header({.descr = std::string(name_of(array.type)),
                                          .fortran_order = array.fortran_order,
                                          .shape = array.shape});
  // The data starts at a multiple of 64 bytes, after padding that a newline ends.
  const std::size_t prefix = magic.size() + 4;
  const std::size_t data_offset = (prefix + header.size() + 1 + 63) / 64 * 64;
  header.resize(data_offset - prefix - 1, ' ');
  header += '\n';
  if (header.size() > std::numeric_limits<std::uint16_t>::max()) refuse(path.string(), "too many dimensions");
  std::string start(magic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  start += header;

  std::vector<std::byte> file(start.size() + array.bytes.size());
  std::memcpy(file.data(), start.data(), start.size());
  if (!array.bytes.empty()) std::memcpy(file.data() + start.size(), array.bytes.data(), array.bytes.size());
  write_file(path, file);
}

}  // namespace gradjit::tool
