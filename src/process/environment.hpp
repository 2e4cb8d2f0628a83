#pragma once

#include <optional>
#include <string>

namespace gradjit::detail {

/// The value of an environment variable; nothing when it is unset or empty.
[[nodiscard]] std::optional<std::string> environment(const char* name);

}  // namespace gradjit::detail
