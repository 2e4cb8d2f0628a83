#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace gradjit::tool {

using Json = nlohmann::json;

/// Throws `BadInput` that says where the file is no JSON, by line and column.
[[nodiscard]] Json read_json(const std::filesystem::path& path);

/// An object of a JSON file. What is wrong with a value throws `BadInput`: "WHERE: key 'KEY': WHAT".
class JsonObject {
 public:
  /// `where` names the file and the part of it that `json` is. `prefix` stands before the keys in messages.
  /// Throws if `json` is no object. Borrows `json`.
  JsonObject(std::string where, const Json& json, std::string prefix = "");

  [[noreturn]] void fail(std::string_view key, std::string_view what) const;

  /// From here on, messages say `where`.
  void rename(std::string where) { where_ = std::move(where); }

  [[nodiscard]] bool has(std::string_view key) const { return json_->contains(key); }
  [[nodiscard]] const Json& value(std::string_view key) const;
  [[nodiscard]] std::string string(std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  /// Of f32's range and at least 0, in double, or "inf": JSON has no infinity.
  [[nodiscard]] double alpha(std::string_view key) const;
  [[nodiscard]] const Json& list(std::string_view key) const;
  [[nodiscard]] JsonObject object(std::string_view key) const;
  /// Object `index` of a list; keys are called "KEY[INDEX].…".
  [[nodiscard]] JsonObject object(std::string_view key, std::size_t index) const;

 private:
  std::string where_;
  std::string prefix_;
  const Json* json_;
};

/// A value as it may stand in a message: cut where it is long.
[[nodiscard]] std::string shown(const Json& value);

/// Whether it is a whole number of 64 bits with a sign.
[[nodiscard]] bool is_integer(const Json& value);

}  // namespace gradjit::tool
