#include "src/profiling/perf.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/error.hpp>

#include "src/code_memory/code_memory.hpp"
#include "src/profiling/perf_writers.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/perf_files.hpp"
#include "tests/support/temporary_directory.hpp"

namespace gradjit::detail {
namespace {

using test::expected_line;
using test::JitDumpReader;
using test::MapLine;
using test::parse_map;
using test::read_file;
using test::TemporaryDirectory;

const std::vector<std::uint8_t> first_code{0xb8, 1, 0, 0, 0, 0xc3};
const std::vector<std::uint8_t> second_code(1000, 0x90);

TEST(PerfMode, IsParsed) {
  EXPECT_EQ(parse_perf_mode(""), PerfMode::off);
  EXPECT_EQ(parse_perf_mode("map"), PerfMode::map);
  EXPECT_EQ(parse_perf_mode("jitdump"), PerfMode::jitdump);
  try {
    (void)parse_perf_mode("gdb");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(), "GRADJIT_PERF is \"gdb\", expected one of map, jitdump");
  }
}

TEST(PerfMap, HasALinePerKernel) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "perf-1.map";
  PerfMapWriter(path).write("first kernel", first_code);
  {
    PerfMapWriter writer(path);  // Appends.
    writer.write("second", second_code);
    writer.write("third", first_code);
  }
  const std::vector<MapLine> expected{expected_line("first kernel", first_code),
                                      expected_line("second", second_code),
                                      expected_line("third", first_code)};
  EXPECT_EQ(parse_map(path), expected);
}

TEST(PerfMap, RefusesASymbolicLink) {
  const TemporaryDirectory directory;
  directory.write("target", "precious");
  std::filesystem::create_symlink(directory.path() / "target", directory.path() / "link");
  EXPECT_THROW(PerfMapWriter(directory.path() / "link"), std::system_error);
  EXPECT_THROW(JitDumpWriter(directory.path() / "link"), std::system_error);
  EXPECT_EQ(read_file(directory.path() / "target"), "precious");
}

TEST(JitDump, HasARecordPerKernel) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "jit-1.dump";
  {
    JitDumpWriter writer(path);
    writer.write("first kernel", first_code);
    writer.write("second", second_code);
  }
  JitDumpReader reader(path);
  reader.expect_header();
  const auto first = reader.expect_load(0, "first kernel", first_code);
  const auto second = reader.expect_load(1, "second", second_code);
  EXPECT_TRUE(reader.at_end());
  EXPECT_LE(first, second);
}

TEST(JitDump, ShowsItselfToPerfWhileItIsOpen) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "jit-1.dump";
  const auto is_mapped = [&path] {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(path.string()) != std::string::npos && line.find(" r-xp ") != std::string::npos) {
        return true;
      }
    }
    return false;
  };
  {
    const JitDumpWriter writer(path);
    EXPECT_TRUE(is_mapped());
  }
  EXPECT_FALSE(is_mapped());
}

// These run in processes of their own, which read GRADJIT_PERF afresh.
class PerfEnvironment : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override {
    unsetenv("GRADJIT_PERF");
    unsetenv("JITDUMPDIR");
  }
};

std::string perf_map_of_this_process() { return "/tmp/perf-" + std::to_string(getpid()) + ".map"; }

bool every_thread_has_its_line() {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int j = 0; j < 100; ++j) {
        record_code("kernel_" + std::to_string(i) + "_" + std::to_string(j), second_code);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::set<std::string> names;
  for (const MapLine& line : parse_map(perf_map_of_this_process())) {
    EXPECT_EQ(line, expected_line(line.name, second_code));
    names.insert(line.name);
  }
  return names.size() == 400;
}

// A child has a file of its own, and leaves the parent's alone.
bool child_has_its_own_map() {
  const auto before = read_file(perf_map_of_this_process());
  const bool good = test::run_in_child([] {
                      record_code("child", first_code);
                      const auto lines = parse_map(perf_map_of_this_process());
                      std::filesystem::remove(perf_map_of_this_process());
                      return lines == std::vector{expected_line("child", first_code)};
                    }) == 0;
  return good && read_file(perf_map_of_this_process()) == before;
}

// perf looks up names only for code in memory that belongs to no file.
bool code_is_in_anonymous_memory() {
  const auto block = store_code(first_code);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end;
    const auto address = reinterpret_cast<std::uintptr_t>(block->data());
    if (begin <= address && address < end) {
      return line.find("r-xp") != std::string::npos && line.find('/') == std::string::npos;
    }
  }
  return false;
}

TEST_F(PerfEnvironment, MapWritesToTmp) {
  setenv("GRADJIT_PERF", "map", 1);
  EXPECT_EXIT(
      {
        const bool good =
            every_thread_has_its_line() && child_has_its_own_map() && code_is_in_anonymous_memory();
        std::filesystem::remove(perf_map_of_this_process());
        std::exit(good ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

bool jit_dump_is_in_its_directory() {
  const TemporaryDirectory directory;
  setenv("JITDUMPDIR", directory.path().c_str(), 1);
  record_code("kernel", first_code);
  JitDumpReader reader(directory.path() / ("jit-" + std::to_string(getpid()) + ".dump"));
  reader.expect_header();
  reader.expect_load(0, "kernel", first_code);
  return reader.at_end() && !testing::Test::HasFailure();
}

TEST_F(PerfEnvironment, JitDumpWritesToItsDirectory) {
  setenv("GRADJIT_PERF", "jitdump", 1);
  EXPECT_EXIT(std::exit(jit_dump_is_in_its_directory() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST_F(PerfEnvironment, SaysOnceThatItCannotWrite) {
  setenv("GRADJIT_PERF", "jitdump", 1);
  setenv("JITDUMPDIR", "/nowhere", 1);
  EXPECT_EXIT(
      {
        record_code("first", first_code);
        record_code("second", second_code);
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "^gradjit: GRADJIT_PERF has no effect from here on: cannot open /nowhere/jit-[0-9]+.dump: [^\n]*\n$");
}

TEST_F(PerfEnvironment, RefusesAWrongValueEachTime) {
  setenv("GRADJIT_PERF", "Map", 1);
  EXPECT_EXIT(
      {
        int errors = 0;
        for (int i = 0; i < 2; ++i) {
          try {
            record_code("kernel", first_code);
          } catch (const Error& error) {
            errors += error.code() == ErrorCode::invalid_argument ? 1 : 0;
          }
        }
        std::exit(errors);
      },
      testing::ExitedWithCode(2), "");
}

TEST_F(PerfEnvironment, IsOffByDefault) {
  EXPECT_EXIT(
      {
        record_code("kernel", first_code);
        std::exit(perf_mode() == PerfMode::off && !std::filesystem::exists(perf_map_of_this_process()) ? 0
                                                                                                       : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gradjit::detail
