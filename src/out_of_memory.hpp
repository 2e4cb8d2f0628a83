#pragma once

#include <new>

#include <gradjit/error.hpp>

namespace gradjit::detail {

/// What `call` returns; where memory runs out, `Error` (out_of_memory) in place of std::bad_alloc.
template <typename Call>
auto reporting_out_of_memory(Call call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "no memory left");
  }
}

}  // namespace gradjit::detail
