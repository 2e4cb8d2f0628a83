#pragma once

namespace gradjit {

/// The version of these headers, by semantic versioning; CMake reads it from here.
inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;
inline constexpr const char* version = "0.1.0";

}  // namespace gradjit
