#pragma once

#include <cstdint>
#include <exception>
#include <new>

#include <gradjit/error.hpp>
#include <gradjit/gradjit.h>

#include "src/plan/message.hpp"

namespace gradjit::detail {

/// What `gradjit_last_error` says on this thread from now on.
void set_last_error(const char* message) noexcept;

[[nodiscard]] gradjit_status status_of(ErrorCode code) noexcept;

/// Does what a C function is for. Exceptions become a status and the thread's last error.
template <typename Call>
[[nodiscard]] gradjit_status guarded(Call call) noexcept {
  try {
    call();
    return GRADJIT_SUCCESS;
  } catch (const Error& error) {
    set_last_error(error.what());
    return status_of(error.code());
  } catch (const std::bad_alloc&) {
    set_last_error("no memory left");
    return GRADJIT_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    set_last_error(error.what());
  } catch (...) {
    set_last_error("something was thrown that is no std::exception");
  }
  return GRADJIT_INTERNAL;
}

/// What the argument `name` points to.
template <typename T>
[[nodiscard]] T& required(T* argument, const char* name, const char* expected) {
  if (argument == nullptr) {
    refuse(name, " is null, expected ", expected);
  }
  return *argument;
}

/// An output, which is null where the caller forgot it.
template <typename T>
[[nodiscard]] T& required_output(T* argument, const char* name) {
  return required(argument, name, "a place for the result");
}

/// A flag of C's, which has many integers for two answers.
[[nodiscard]] inline bool flag(std::int32_t value, const char* name) {
  if (value != 0 && value != 1) {
    refuse(name, " is ", value, ", expected 0 or 1");
  }
  return value == 1;
}

}  // namespace gradjit::detail
