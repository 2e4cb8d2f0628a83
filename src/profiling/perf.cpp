#include "src/profiling/perf.hpp"

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include <gradjit/error.hpp>

#include "src/process/environment.hpp"
#include "src/process/fork.hpp"
#include "src/profiling/perf_writers.hpp"

namespace gradjit::detail {
namespace {

std::unique_ptr<PerfWriter> open_writer(PerfMode mode) {
  const std::string pid = std::to_string(getpid());
  if (mode == PerfMode::map) {
    return std::make_unique<PerfMapWriter>("/tmp/perf-" + pid + ".map");
  }
  const std::string directory = environment("JITDUMPDIR").value_or(".");
  return std::make_unique<JitDumpWriter>(directory + "/jit-" + pid + ".dump");
}

// The files of this process; a forked child starts its own.
class Recorder {
 public:
  explicit Recorder(PerfMode mode)
      : mode_(mode),
        fork_handler_([](void* self, ForkEvent event) { static_cast<Recorder*>(self)->on_fork(event); },
                      this) {}

  void record(std::string_view name, std::span<const std::uint8_t> code) {
    const std::lock_guard lock(mutex_);
    if (failed_) {
      return;
    }
    try {
      if (!writer_) {
        writer_ = open_writer(mode_);
      }
      writer_->write(name, code);
    } catch (const std::exception& error) {
      failed_ = true;
      std::fprintf(stderr, "gradjit: GRADJIT_PERF has no effect from here on: %s\n", error.what());
    }
  }

 private:
  void on_fork(ForkEvent event) {
    if (event == ForkEvent::before) {
      mutex_.lock();
      return;
    }
    if (event == ForkEvent::in_child) {
      writer_.reset();
    }
    mutex_.unlock();
  }

  const PerfMode mode_;
  std::mutex mutex_;
  std::unique_ptr<PerfWriter> writer_;
  bool failed_ = false;
  ForkHandler fork_handler_;
};

}  // namespace

PerfMode parse_perf_mode(std::string_view value) {
  if (value.empty()) {
    return PerfMode::off;
  }
  if (value == "map") {
    return PerfMode::map;
  }
  if (value == "jitdump") {
    return PerfMode::jitdump;
  }
  throw Error(ErrorCode::invalid_argument,
              "GRADJIT_PERF is \"" + std::string(value) + "\", expected one of map, jitdump");
}

PerfMode perf_mode() {
  static MadeOnce<const PerfMode> mode;
  return mode.get([] { return new PerfMode(parse_perf_mode(environment("GRADJIT_PERF").value_or(""))); });
}

void record_code(std::string_view name, std::span<const std::uint8_t> code) {
  const PerfMode mode = perf_mode();
  if (mode != PerfMode::off) {
    static MadeOnce<Recorder> recorder;
    recorder.get([mode] { return new Recorder(mode); }).record(name, code);
  }
}

}  // namespace gradjit::detail
