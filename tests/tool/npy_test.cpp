// What the tool makes of damaged and unusual .npy files.
#include <string>
#include <vector>

#include "tests/tool/tool_test.hpp"

namespace gradjit::test {
namespace {

const std::string good_dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
const std::vector<float> good_values = {1, -2, 3, -4, 5, -6};

class NpyTest : public ToolTest {
 protected:
  Arguments run_on(const std::string& src, const std::string& diff_dst) const {
    return {"run", "elu_backward", "--alpha", "1",     "--src",
            src,   "--diff-dst",   diff_dst,  "--out", path("out.npy")};
  }

  /// Expects that `content` is refused as either input, and that nothing is written.
  void expect_refused(const std::string& content, const std::string& part) const {
    const std::string good = write("good.npy", npy(good_dictionary, bytes_of(good_values)));
    const std::string bad = write("bad.npy", content);
    expect_refusal(run_on(bad, good), part);
    expect_refusal(run_on(good, bad), part);
    expect_refusal(run_on(bad, good), "bad.npy");
    EXPECT_EQ(file_count(), 2U);
  }

  void expect_accepted(const std::string& content) const {
    const std::string file = write("x.npy", content);
    const ToolResult result = run(run_on(file, file));
    EXPECT_EQ(result.status, 0) << result.err;
  }
};

TEST_F(NpyTest, DamagedStarts) {
  const std::string good = npy(good_dictionary, bytes_of(good_values));
  expect_refused("", "not a .npy file");
  expect_refused("\x93NUM", "not a .npy file");
  expect_refused("PK\x03\x04 and so on", "not a .npy file");
  expect_refused(good.substr(0, 6), "ends in its version");
  expect_refused(good.substr(0, 7), "ends in its version");
  expect_refused(good.substr(0, 9), "ends in its header");
  expect_refused(good.substr(0, 40), "ends in its header");
  for (const char version : {'\x00', '\x04', '\xff'}) {
    std::string other = good;
    other[6] = version;
    expect_refused(other, "format");
  }
}

TEST_F(NpyTest, DamagedData) {
  const std::string good = npy(good_dictionary, bytes_of(good_values));
  expect_refused(good.substr(0, good.size() - 1), "takes 24 bytes, the file holds 23");
  expect_refused(good.substr(0, good.size() - 24), "takes 24 bytes, the file holds 0");
  expect_refused(good + "x", "bytes after");
}

TEST_F(NpyTest, UnknownTypes) {
  const auto with = [](const std::string& descr) {
    return npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': (2, 3), }", std::string(48, '\0'));
  };
  expect_refused(with("'>f4'"), "big-endian");
  for (const std::string descr : {"'<i4'", "'|u1'", "'<c8'", "'<f16'", "''", "'f4'"})
    expect_refused(with(descr), "type");
  expect_refused(with("[('a', '<f4')]"), "plain element type");
  expect_refused(with("'<f8'"), "'<f8' are not an input");
}

TEST_F(NpyTest, DamagedDictionaries) {
  const std::vector<std::pair<std::string, std::string>> dictionaries = {
      {"", "lacks a '{'"},
      {"{", "lacks"},
      {"{}", "lacks 'descr'"},
      {"{'descr': '<f4'", "lacks a '}'"},
      {"{'descr' '<f4'}", "lacks a ':'"},
      {"{'descr': '<f4", "without an end"},
      {"{'descr': '<f4', 'fortran_order': False}", "lacks 'shape'"},
      {"{'descr': '<f4', 'shape': (2, 3)}", "lacks 'fortran_order'"},
      {"{'fortran_order': False, 'shape': (2, 3)}", "lacks 'descr'"},
      {good_dictionary + "x", "after its dictionary"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}", "neither True nor False"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", "twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}", "unknown key"},
      {"{'descr': '<f4'; 'fortran_order': False, 'shape': (2, 3)}", "lacks a '}'"},
  };
  for (const auto& [dictionary, part] : dictionaries)
    expect_refused(npy(dictionary, bytes_of(good_values)), part);
}

TEST_F(NpyTest, DamagedShapes) {
  const std::vector<std::pair<std::string, std::string>> shapes = {
      {"6", "no tuple"},
      {"(6)", "damaged 'shape'"},
      {"(2 3)", "damaged 'shape'"},
      {"(2, 3", "damaged 'shape'"},
      {"(,)", "whole numbers"},
      {"(2.5,)", "'shape'"},
      {"('a',)", "whole numbers"},
      {"(-6,)", "negative"},
      {"(2, -3)", "negative"},
      {"(99999999999999999999,)", "beyond 64 bits"},
      {"(9223372036854775807,)", "63 bits"},
      {"(4294967296, 4294967296)", "63 bits"},
      {"(2305843009213693952,)", "63 bits"},
      {"(1152921504606846976,)", "the file holds 24"},
      {"(3, 3)", "the file holds 24"},
      {"(3, 1)", "bytes after"},
      {"(0, 3)", "bytes after"},
  };
  for (const auto& [shape, part] : shapes) {
    expect_refused(
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}", bytes_of(good_values)), part);
  }
  const std::string ones = "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3)";
  const std::string deep =
      write("deep.npy",
            npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + ones + "}", bytes_of(good_values)));
  expect_refusal(run_on(deep, deep), "at most 12");
}

TEST_F(NpyTest, MissingAndUnreadableFiles) {
  const std::string good = write("good.npy", npy(good_dictionary, bytes_of(good_values)));
  expect_refusal(run_on(path("none.npy"), good), "No such file");
  expect_refusal(run_on(good, path("none.npy")), "No such file");
  expect_refusal(run_on(path("."), good), "directory");
  expect_refusal(run_on("/dev/zero", good), "not a .npy file");
  expect_refusal(run_on("/dev/null", good), "not a .npy file");
}

TEST_F(NpyTest, OtherFormsOfTheSame) {
  expect_accepted(npy("{'shape':(2,3),\"fortran_order\":False,'descr':\"<f4\"}   \n", bytes_of(good_values)));
  expect_accepted(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L)}", bytes_of(good_values)));
  for (const char version : {'\x02', '\x03'}) {
    std::string content = npy(good_dictionary, bytes_of(good_values));
    content[6] = version;
    content.insert(10, 2, '\0');  // the size of the header has four bytes in these
    expect_accepted(content);
  }
}

}  // namespace
}  // namespace gradjit::test
