#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "src/profiling/output_file.hpp"

namespace gradjit::detail {

/// Writes one of the formats that perf reads. Not thread-safe.
class PerfWriter {
 public:
  PerfWriter() = default;
  virtual ~PerfWriter() = default;
  PerfWriter(const PerfWriter&) = delete;
  PerfWriter& operator=(const PerfWriter&) = delete;

  /// Throws std::system_error.
  virtual void write(std::string_view name, std::span<const std::uint8_t> code) = 0;
};

/// A line of hexadecimal address, hexadecimal size and name per function, as
/// tools/perf/Documentation/jit-interface.txt of Linux defines it.
class PerfMapWriter final : public PerfWriter {
 public:
  explicit PerfMapWriter(const std::filesystem::path& path);
  void write(std::string_view name, std::span<const std::uint8_t> code) override;

 private:
  OutputFile file_;
};

/// Binary records of names and code, as tools/perf/Documentation/jitdump-specification.txt of Linux
/// defines them (version 1).
class JitDumpWriter final : public PerfWriter {
 public:
  explicit JitDumpWriter(const std::filesystem::path& path);
  ~JitDumpWriter() override;
  JitDumpWriter(const JitDumpWriter&) = delete;
  JitDumpWriter& operator=(const JitDumpWriter&) = delete;
  void write(std::string_view name, std::span<const std::uint8_t> code) override;

 private:
  OutputFile file_;
  void* marker_ = nullptr;
  std::size_t marker_size_ = 0;
  std::uint64_t next_index_ = 0;
};

}  // namespace gradjit::detail
