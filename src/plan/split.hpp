#pragma once

#include "src/plan/plan.hpp"

namespace gradjit::detail {

/// LogSoftmaxBackward whose tensors all lie otherwise than the kernel wants, but as another kernel would have
/// them (channels-last images, transposed matrices): has only diff_dst copied, for the sums, and that other
/// kernel update the tensors where they lie. False, and nothing done, for other plans.
[[nodiscard]] bool split_sums(Plan& plan);

}  // namespace gradjit::detail
