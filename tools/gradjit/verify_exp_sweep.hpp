#pragma once

#include <vector>

#include "tools/gradjit/verify.hpp"

namespace gradjit::tool {

/// Alphas that something may go wrong at, then some at random, 2^-20 to 2^20.
[[nodiscard]] std::vector<float> alphas(const VerifyPlan& plan, std::size_t random_ones);

/// The relative error of alpha * exp(src) inside f32's EluBackward from src, in units of 2^-23, for every
/// source (a sample: one in 4093) and more than two hundred alphas; the bits of every instruction set for
/// the same. The gradients are powers of two that bring the result near 1, so that they add no rounding of
/// their own.
void verify_exp_of_sources(const VerifyPlan& plan, Quantity& relative);

}  // namespace gradjit::tool
