#pragma once

#include <cstdint>

#include "src/cache/kernel_cache.hpp"

namespace gradjit::test {

/// Specs that differ in one number, and kernels for them that are code but can't be called.
[[nodiscard]] jit::KernelSpec spec_of(std::uint32_t id);
[[nodiscard]] detail::KernelCache::Kernel make_kernel(const jit::KernelSpec& spec);

}  // namespace gradjit::test
