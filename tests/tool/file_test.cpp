// Where the tool's output files go, whatever their names stand for.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/tool/tool_test.hpp"

namespace gradjit::test {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ToolTest {
 protected:
  [[nodiscard]] static std::string content(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  [[nodiscard]] static Arguments dump_to(const std::string& file) {
    return {"dump", "elu_backward", "--alpha", "1", "--format", "bin", "--out", file};
  }
  /// What goes to any file.
  [[nodiscard]] std::string code() const {
    const std::string file = path("code.bin");
    EXPECT_EQ(run(dump_to(file)).status, 0);
    return content(file);
  }
};

TEST_F(OutputFileTest, OpenFileGoesOnWhereItStands) {
  for (const char* const name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    const std::string file = write("log", "before\n");
    EXPECT_EQ(run_onto(file, dump_to(name)).status, 0) << name;
    EXPECT_EQ(content(file), "before\n" + code()) << name;
  }
}

TEST_F(OutputFileTest, SymbolicLinkStays) {
  for (const char* const target : {"there.bin", "new.bin"}) {
    fs::create_symlink(target, path(std::string("link to ") + target));
  }
  write("there.bin", "old");
  for (const std::string target : {"there.bin", "new.bin"}) {
    const std::string link = path("link to " + target);
    EXPECT_EQ(run(dump_to(link)).status, 0) << target;
    EXPECT_TRUE(fs::is_symlink(link)) << target;
    EXPECT_EQ(content(path(target)), code()) << target;
  }
  fs::create_symlink("loop", path("loop"));
  expect_refusal(dump_to(path("loop")), "symbolic links");
}

TEST_F(OutputFileTest, LongestNameWorks) {
  const std::string file = path(std::string(255, 'n'));
  EXPECT_EQ(run(dump_to(file)).status, 0);
  EXPECT_EQ(content(file), code());
  expect_refusal(dump_to(path(std::string(256, 'n'))), "File name too long");
}

TEST_F(OutputFileTest, ModeStays) {
  const std::string file = write("file", "old");
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  EXPECT_EQ(run(dump_to(file)).status, 0);
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

}  // namespace
}  // namespace gradjit::test
