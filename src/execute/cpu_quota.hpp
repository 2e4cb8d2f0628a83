#pragma once

#include <filesystem>
#include <optional>

namespace gradjit::detail {

/// How many CPUs' worth of time the control groups of this process allow it (cpu.max of version 2,
/// cpu.cfs_quota_us of version 1; the least on the way from the process's group to the root), or nothing
/// where there is no limit. Reads proc and the mounted hierarchies below `root`.
[[nodiscard]] std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace gradjit::detail
