#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gradjit/types.hpp>

namespace gradjit::tool {

/// `text` with every control character escaped, so that it prints as one line.
[[nodiscard]] std::string one_line(std::string_view text);

/// What errno says.
[[nodiscard]] std::string system_error();

/// For options that stand for something else when they are left out: empty is no value. Returns what CLI11
/// says of it, which is nothing for a value.
[[nodiscard]] std::string not_empty(const std::string& value);

/// The parts between commas. Throws `BadInput` for an empty part; `option` is named in the message.
[[nodiscard]] std::vector<std::string> split_list(std::string_view option, std::string_view text);
/// The same, each part once.
[[nodiscard]] std::vector<std::string> split_distinct(std::string_view option, std::string_view text);

/// Names without repetition, in the order given. Throws like `parse_data_type` and `parse_isa`.
[[nodiscard]] std::vector<DataType> parse_data_types(std::string_view option, std::string_view text);
[[nodiscard]] std::vector<Isa> parse_isas(std::string_view option, std::string_view text);

/// A whole number in decimal.
[[nodiscard]] std::int64_t parse_integer(std::string_view option, std::string_view text);
/// "true" or "false".
[[nodiscard]] bool parse_bool(std::string_view option, std::string_view text);
/// A number that f32 can hold, in decimal or C's hexadecimal notation, or "inf". Rounds once.
[[nodiscard]] float parse_float(std::string_view option, std::string_view text);
/// "64,1024" for a matrix, "" for a scalar.
[[nodiscard]] Dims parse_shape(std::string_view option, std::string_view text);

/// "(64, 1024)", as NumPy writes shapes.
[[nodiscard]] std::string format_shape(const Dims& dims);

}  // namespace gradjit::tool
