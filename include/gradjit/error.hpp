#pragma once

#include <stdexcept>
#include <string>

#include <gradjit/export.hpp>

namespace gradjit {

/// What kind of failure an `Error` reports.
enum class ErrorCode {
  invalid_argument,    ///< A request or a call that breaks a documented precondition.
  unsupported,         ///< A valid request that this build or this CPU cannot serve.
  out_of_memory,       ///< Memory for code or scratch could not be had.
  code_memory_denied,  ///< The system refuses executable memory.
  internal,            ///< A defect in the library.
};

/// The only exception that the library throws on purpose. `what()` names the argument, the value that
/// it had and what was expected.
class GRADJIT_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace gradjit
