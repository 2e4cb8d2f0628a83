#pragma once

#include <string_view>

#include "src/execute/block_call.hpp"
#include "src/plan/plan.hpp"

namespace gradjit::detail {

/// The buffers of a call as the caller gave them. `activation` is src or dst.
struct Buffers {
  const void* activation = nullptr;
  const void* diff_dst = nullptr;
  void* diff_src = nullptr;
};

/// In place, diff_src is null or diff_dst, with elements to do or without; throws `Error`
/// (invalid_argument) for another.
void check_in_place(const Plan& plan, const Buffers& buffers);

/// Checks the buffers of a call with elements to do, `check_in_place` being done, and returns where the
/// loops start. Throws `Error` (invalid_argument) for a null pointer and for a diff_src that shares elements
/// with an input in another way than exactly.
[[nodiscard]] Pointers checked_pointers(const Plan& plan, const Buffers& buffers);

/// "src" or "dst".
[[nodiscard]] std::string_view activation_name(const Plan& plan);

}  // namespace gradjit::detail
