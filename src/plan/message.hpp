#pragma once

#include <sstream>
#include <string>

#include <gradjit/error.hpp>

namespace gradjit::detail {

/// Its arguments, printed one after the other.
template <typename... Parts>
[[nodiscard]] std::string concatenated(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// Throws an invalid_argument whose message is the parts one after the other.
template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::invalid_argument, concatenated(parts...));
}

}  // namespace gradjit::detail
