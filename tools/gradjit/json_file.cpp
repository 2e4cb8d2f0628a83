#include "tools/gradjit/json_file.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/file.hpp"

namespace gradjit::tool {
namespace {

/// What the parser says, without its names for errors: "[json.exception.parse_error.101] parse error at line
/// 1, column 1: syntax error ..."; numbers beyond double, "[json.exception.out_of_range.406] ...", have no
/// position.
std::string_view plain(std::string_view message) {
  constexpr std::string_view place = "parse error at ";
  message.remove_prefix(message.find(' ') + 1);
  if (message.starts_with(place)) message.remove_prefix(place.size());
  return message;
}

}  // namespace

Json read_json(const std::filesystem::path& path) {
  constexpr int deepest = 100;  // What is read here has 5 levels. (Messages print values by recursion.)
  const std::string text = read_text(path);
  const auto check_depth = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > deepest) {
      throw BadInput(fmt::format("{}: nested more than {} levels deep", path.string(), deepest));
    }
    return true;
  };
  try {
    return Json::parse(text, check_depth);
  } catch (const Json::exception& error) {
    throw BadInput(fmt::format("{}: not JSON: {}", path.string(), plain(error.what())));
  }
}

JsonObject::JsonObject(std::string where, const Json& json, std::string prefix)
    : where_(std::move(where)), prefix_(std::move(prefix)), json_(&json) {
  if (json.is_object()) return;
  if (prefix_.empty()) throw BadInput(fmt::format("{}: expected an object, found {}", where_, shown(json)));
  const std::string key = prefix_.substr(0, prefix_.size() - 1);
  throw BadInput(fmt::format("{}: key '{}': expected an object, found {}", where_, key, shown(json)));
}

void JsonObject::fail(std::string_view key, std::string_view what) const {
  throw BadInput(fmt::format("{}: key '{}{}': {}", where_, prefix_, key, what));
}

const Json& JsonObject::value(std::string_view key) const {
  const auto entry = json_->find(key);
  if (entry == json_->end()) fail(key, "is missing");
  return *entry;
}

std::string JsonObject::string(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_string()) fail(key, fmt::format("expected a string, found {}", shown(found)));
  return found.get<std::string>();
}

bool JsonObject::boolean(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_boolean()) fail(key, fmt::format("expected true or false, found {}", shown(found)));
  return found.get<bool>();
}

std::int64_t JsonObject::integer(std::string_view key) const {
  const Json& found = value(key);
  if (!is_integer(found)) fail(key, fmt::format("expected a 64-bit whole number, found {}", shown(found)));
  return found.get<std::int64_t>();
}

double JsonObject::alpha(std::string_view key) const {
  const Json& found = value(key);
  if (found == "inf") return std::numeric_limits<double>::infinity();
  if (!found.is_number()) fail(key, fmt::format("expected a number or \"inf\", found {}", shown(found)));
  const auto alpha = found.get<double>();
  if (std::isinf(static_cast<float>(alpha))) {
    fail(key, fmt::format("{} is beyond the range of f32", shown(found)));
  }
  if (alpha < 0) fail(key, fmt::format("expected at least 0, found {}", shown(found)));
  return alpha;
}

const Json& JsonObject::list(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_array()) fail(key, fmt::format("expected a list, found {}", shown(found)));
  return found;
}

JsonObject JsonObject::object(std::string_view key) const {
  return {where_, value(key), fmt::format("{}{}.", prefix_, key)};
}

JsonObject JsonObject::object(std::string_view key, std::size_t index) const {
  return {where_, list(key).at(index), fmt::format("{}{}[{}].", prefix_, key, index)};
}

std::string shown(const Json& value) {
  constexpr std::size_t limit = 40;
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= limit ? text : text.substr(0, limit) + "...";
}

bool is_integer(const Json& value) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= most);
}

}  // namespace gradjit::tool
