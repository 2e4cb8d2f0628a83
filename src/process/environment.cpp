#include "src/process/environment.hpp"

#include <cstdlib>

namespace gradjit::detail {

std::optional<std::string> environment(const char* name) {
  // A host that changes its environment while other threads read it breaks every library alike.
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  if (value == nullptr || *value == '\0') {
    return std::nullopt;
  }
  return value;
}

}  // namespace gradjit::detail
