#include "tools/gradjit/text.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/gradjit/command.hpp"

namespace gradjit::tool {
namespace {

[[noreturn]] void refuse(std::string_view option, std::string_view text, std::string_view expected) {
  throw BadInput(fmt::format("{}: '{}' is not {}", option, text, expected));
}

template <typename T, typename Parse>
std::vector<T> parse_names(std::string_view option, std::string_view text, Parse parse) {
  std::vector<T> values;
  for (const std::string& name : split_distinct(option, text)) values.push_back(parse(name));
  return values;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
}

std::string system_error() { return std::generic_category().message(errno); }

std::string not_empty(const std::string& value) {
  return value.empty() ? "'' is no value; leave the option out for its default" : "";
}

std::vector<std::string> split_list(std::string_view option, std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = text.find(',', begin);
    parts.emplace_back(text.substr(begin, comma - begin));
    if (parts.back().empty()) refuse(option, text, "a list with commas between its parts");
    if (comma == std::string_view::npos) return parts;
    begin = comma + 1;
  }
}

std::vector<std::string> split_distinct(std::string_view option, std::string_view text) {
  std::vector<std::string> distinct;
  for (std::string& part : split_list(option, text)) {
    if (std::ranges::find(distinct, part) == distinct.end()) distinct.push_back(std::move(part));
  }
  return distinct;
}

std::vector<DataType> parse_data_types(std::string_view option, std::string_view text) {
  return parse_names<DataType>(option, text, parse_data_type);
}

std::vector<Isa> parse_isas(std::string_view option, std::string_view text) {
  return parse_names<Isa>(option, text, parse_isa);
}

std::int64_t parse_integer(std::string_view option, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse(option, text, "a 64-bit whole number");
  return value;
}

bool parse_bool(std::string_view option, std::string_view text) {
  if (text != "true" && text != "false") refuse(option, text, "true or false");
  return text == "true";
}

float parse_float(std::string_view option, std::string_view text) {
  const std::string terminated(text);
  char* end = nullptr;
  const float value = std::strtof(terminated.c_str(), &end);
  const bool whole = !text.empty() && std::isspace(static_cast<unsigned char>(text[0])) == 0 &&
                     end == terminated.c_str() + terminated.size();
  if (!whole) refuse(option, text, "a number");
  const bool names_infinity = text.find_first_of("iI") != std::string_view::npos;
  if (std::isinf(value) && !names_infinity)
    refuse(option, text, "in the range of f32 (write inf for infinity)");
  return value;
}

Dims parse_shape(std::string_view option, std::string_view text) {
  Dims dims;
  if (text.empty()) return dims;
  for (const std::string& part : split_list(option, text)) dims.push_back(parse_integer(option, part));
  return dims;
}

std::string format_shape(const Dims& dims) {
  std::string text = "(";
  for (std::size_t i = 0; i < dims.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", dims[i]);
  return text + (dims.size() == 1 ? ",)" : ")");
}

}  // namespace gradjit::tool
