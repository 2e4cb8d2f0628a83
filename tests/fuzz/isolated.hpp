#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace gradjit::test {

/// What `check` returns, or the exception that it throws.
[[nodiscard]] std::string checked(const std::function<std::string()>& check);

struct Found {
  std::size_t index;
  std::string failure;
};

/// Calls `check(0)`, `check(1)` and so on, up to `count` of them, in child processes, and returns the first
/// that finds something (a text that is not empty), throws, crashes or hangs.
[[nodiscard]] std::optional<Found> first_failure(std::size_t count,
                                                 const std::function<std::string(std::size_t)>& check);

}  // namespace gradjit::test
