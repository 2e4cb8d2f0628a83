#pragma once

#include <filesystem>
#include <string_view>

#include "src/cpu/probe.hpp"

namespace gradjit::detail {

/// Fills the levels that are still 0 bytes: from the `cache` directory of a CPU in sysfs, else (for this
/// machine only) from sysconf, else by assumption.
void complete_caches(Caches& caches, const std::filesystem::path& directory, bool ask_sysconf = true);

/// "48K", "2M" or "512" in bytes; 0 for anything else.
[[nodiscard]] std::size_t parse_cache_size(std::string_view text);

}  // namespace gradjit::detail
