#pragma once

#include <cstdint>
#include <string_view>

#include "src/plan/request.hpp"

namespace gradjit::detail {

/// A tensor's description, with the name that the caller knows it by.
struct Named {
  std::string_view name;
  const TensorDesc* desc;
};

// Checks of descriptions. They throw `Error` (invalid_argument).

void check_data_type(const Named& tensor);

/// The dims by themselves. Returns the number of elements.
[[nodiscard]] std::int64_t check_dims(const Named& tensor);

/// That there are as many strides as dims, and that 64 bits hold the offsets that they lead to, in bytes.
void check_strides(const Named& tensor);

/// That dtype and dims are those of `first`.
void check_agreement(const Named& tensor, const Named& first);

/// That the result doesn't overlap itself. `dims` have its strides as diff_src's.
void check_output(const DimList& dims, const Named& output, bool in_place);

}  // namespace gradjit::detail
