#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gradjit::detail {

/// How generated code is made known to Linux perf.
enum class PerfMode : std::uint8_t {
  off,
  map,      ///< Names only, in /tmp/perf-PID.map: for `perf record` and `perf report`.
  jitdump,  ///< Names and code, in jit-PID.dump: for `perf record -k mono`, `perf inject --jit`.
};

/// "" (off), "map" or "jitdump". Throws `Error` (invalid_argument) that lists them.
[[nodiscard]] PerfMode parse_perf_mode(std::string_view value);

/// What GRADJIT_PERF says; read at the first call that finds a valid one. Throws as `parse_perf_mode`.
[[nodiscard]] PerfMode perf_mode();

/// Tells perf about code that is about to be used, if GRADJIT_PERF asks for it. Thread-safe. A file that
/// can't be written is said once on stderr and does not stop anything.
void record_code(std::string_view name, std::span<const std::uint8_t> code);

}  // namespace gradjit::detail
