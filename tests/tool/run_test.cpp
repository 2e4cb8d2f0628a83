#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/tool/tool_test.hpp"

namespace gradjit::test {
namespace {

class RunTest : public ToolTest {
 protected:
  Arguments elu(const std::string& src, const std::string& diff_dst, const Arguments& more = {}) const {
    return joined({"run", "elu_backward", "--alpha", "1", "--src", src, "--diff-dst", diff_dst, "--out",
                   path("out.npy")},
                  more);
  }

  static Arguments joined(Arguments arguments, const Arguments& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  void expect_good(const Arguments& arguments) const {
    const ToolResult result = run(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "");
  }
};

/// An ulp of f32.
double ulp(double value) { return std::ldexp(1.0, std::max(std::ilogb(value), -126) - 23); }

TEST_F(RunTest, GivesTheRecordedResultsOnEveryIsa) {
  const auto expected = read_array<double>(data_file("digits_mlp_hidden1_alpha0p37_src_expected.npy"));
  std::string first;
  for (const std::string& isa : available_isas()) {
    for (const Arguments& more : {Arguments{"--isa", isa}, {"--isa", isa, "--in-place"}}) {
      expect_good(joined({"run", "elu_backward", "--alpha", "0.37", "--src",
                          data_file("digits_mlp_hidden1_alpha0p37_src.npy"), "--diff-dst",
                          data_file("digits_mlp_hidden1_alpha0p37_diff_dst.npy"), "--out", path("out.npy")},
                         more));
      const auto out = read_array<float>(path("out.npy"));
      ASSERT_EQ(out.shape, expected.shape);
      for (std::size_t i = 0; i < out.values.size(); ++i) {
        ASSERT_LE(std::fabs(out.values[i] - expected.values[i]), 2 * ulp(expected.values[i]))
            << isa << ' ' << i;
      }
      const std::string bytes = read_file(path("out.npy"));
      if (first.empty()) first = bytes;
      EXPECT_EQ(bytes, first) << isa;
    }
  }
}

TEST_F(RunTest, LogSoftmaxAlongAnyAxis) {
  // exp(dst) is 1/2 for each of two elements along the axis: diff_src is half their difference.
  const float half = std::log(0.5F);
  const std::string dst =
      write_array<float>("dst.npy", {.shape = {2, 2}, .values = {half, half, half, half}});
  const std::string diff_dst = write_array<float>("diff_dst.npy", {.shape = {2, 2}, .values = {1, 3, 7, 15}});
  const auto result_along = [&](const std::string& axis) {
    expect_good({"run", "log_softmax_backward", "--axis", axis, "--dst", dst, "--diff-dst", diff_dst, "--out",
                 path("out.npy")});
    return read_array<float>(path("out.npy")).values;
  };
  const auto expect_near = [](const std::vector<float>& values, const std::vector<float>& expected) {
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-5) << i;
  };
  for (const std::string axis : {"-1", "1"}) expect_near(result_along(axis), {-1, 1, -4, 4});
  for (const std::string axis : {"-2", "0"}) expect_near(result_along(axis), {-3, -6, 3, 6});
}

TEST_F(RunTest, TypesOfFilesAndElements) {
  // 1 + 2^-8 is halfway between two bf16, 1 + 2^-11 between two f16: both round to 1, the even one.
  const std::string src = write_array<float>("src.npy", {.shape = {3}, .values = {1, 1, 1}});
  const std::string diff_dst =
      write_array<float>("diff_dst.npy", {.shape = {3}, .values = {1 + 0x1p-8F, 1 + 0x1p-11F, 1 + 0x1p-20F}});
  expect_good(elu(src, diff_dst));
  EXPECT_EQ(read_array<float>(path("out.npy")).values,
            (std::vector<float>{1 + 0x1p-8F, 1 + 0x1p-11F, 1 + 0x1p-20F}));
  expect_good(elu(src, diff_dst, {"--dtype", "bf16"}));
  EXPECT_EQ(read_array<float>(path("out.npy")).values, (std::vector<float>{1, 1, 1}));
  expect_good(elu(src, diff_dst, {"--dtype", "f16"}));
  EXPECT_EQ(read_array<std::uint16_t>(path("out.npy")).values,
            (std::vector<std::uint16_t>{0x3c04, 0x3c00, 0x3c00}));

  const std::string halves =
      write_array<std::uint16_t>("halves.npy", {.shape = {3}, .values = {0x3c00, 0x0001, 0x7bff}});
  expect_good(elu(halves, halves));
  EXPECT_EQ(read_array<std::uint16_t>(path("out.npy")).values,
            (std::vector<std::uint16_t>{0x3c00, 0x0001, 0x7bff}));
  expect_good(elu(halves, halves, {"--dtype", "f32"}));
  EXPECT_EQ(read_array<float>(path("out.npy")).values, (std::vector<float>{1, 0x1p-24F, 65504}));
  expect_good(elu(halves, halves, {"--dtype", "bf16"}));
  EXPECT_EQ(read_array<float>(path("out.npy")).values, (std::vector<float>{1, 0x1p-24F, 65536}));
  expect_refusal(elu(halves, diff_dst), "choose with --dtype");
  expect_good(elu(halves, diff_dst, {"--dtype", "f16"}));
}

TEST_F(RunTest, ScalarsAndEmptyTensors) {
  const std::string scalar = write_array<float>("scalar.npy", {.shape = {}, .values = {5}});
  expect_good(elu(scalar, scalar));
  EXPECT_EQ(read_array<float>(path("out.npy")).values, std::vector<float>{5});
  EXPECT_NE(dictionary_of(path("out.npy")).find("'shape': ()"), std::string::npos);
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{0}, {0, 3}, {3, 0, 4294967296}}) {
    const std::string empty = write_array<float>("empty.npy", {.shape = shape, .values = {}});
    expect_good(elu(empty, empty));
    expect_good(elu(empty, empty, {"--in-place", "--dtype", "bf16"}));
    EXPECT_EQ(read_array<float>(path("out.npy")).shape, shape);
  }
}

TEST_F(RunTest, FortranOrder) {
  const auto fortran = [&](const std::string& name, const std::vector<float>& values) {
    return write(name, npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", bytes_of(values)));
  };
  // The same matrix both ways: rows 1 2 3 and 4 5 6.
  const std::string src = write_array<float>("src.npy", {.shape = {2, 3}, .values = {1, 1, 1, 1, 1, 1}});
  const std::string row_major = write_array<float>("c.npy", {.shape = {2, 3}, .values = {1, 2, 3, 4, 5, 6}});
  const std::string column_major = fortran("f.npy", {1, 4, 2, 5, 3, 6});
  for (const Arguments& more : {Arguments{}, {"--in-place"}}) {
    expect_good(elu(src, column_major, more));
    EXPECT_EQ(read_array<float>(path("out.npy")).values, (std::vector<float>{1, 4, 2, 5, 3, 6}));
    EXPECT_NE(dictionary_of(path("out.npy")).find("'fortran_order': True"), std::string::npos);
  }
  const auto log_softmax = [&](const std::string& diff_dst) {
    expect_good(
        {"run", "log_softmax_backward", "--dst", src, "--diff-dst", diff_dst, "--out", path("out.npy")});
    return read_array<float>(path("out.npy")).values;
  };
  const std::vector<float> rows = log_softmax(row_major);
  const std::vector<float> columns = log_softmax(column_major);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(rows.at(i * 3 + k), columns.at(k * 2 + i));
  }
}

TEST_F(RunTest, OutMayNameAnInput) {
  const std::string src = write_array<float>("src.npy", {.shape = {2}, .values = {1, 2}});
  const std::string diff_dst = write_array<float>("g.npy", {.shape = {2}, .values = {3, 4}});
  expect_good({"run", "elu_backward", "--alpha", "1", "--src", src, "--diff-dst", diff_dst, "--out", src});
  EXPECT_EQ(read_array<float>(src).values, (std::vector<float>{3, 4}));
  EXPECT_EQ(file_count(), 2U);
}

TEST_F(RunTest, LeavesNothingBehindWhenItFails) {
  const std::string src = write_array<float>("src.npy", {.shape = {2}, .values = {1, 2}});
  const std::string other = write_array<float>("other.npy", {.shape = {3}, .values = {1, 2, 3}});
  const std::string out = write("out.npy", "what was there before");
  expect_refusal(elu(src, other), "shape (3,) differs from the (2,)");
  expect_refusal(elu(src, src, {"--isa", "sse2"}), "sse2");
  EXPECT_EQ(read_file(out), "what was there before");
  const auto to = [&](const std::string& name) {
    return Arguments{"run", "elu_backward", "--alpha", "1", "--src", src, "--diff-dst", src, "--out", name};
  };
  expect_refusal(to(path("none/out.npy")), "No such file");
  expect_refusal(to("/dev/full"), "No space left");
  expect_refusal(to(path(".")), "directory");
  expect_refusal(to(""), "empty");
  EXPECT_EQ(file_count(), 3U);
}

TEST_F(RunTest, OutFollowsLinksAndKeepsDevices) {
  const std::string src = write_array<float>("src.npy", {.shape = {2}, .values = {1, 2}});
  const std::string target = write("target.npy", "");
  ASSERT_EQ(::symlink(target.c_str(), path("out.npy").c_str()), 0);
  expect_good(elu(src, src));
  EXPECT_TRUE(std::filesystem::is_symlink(path("out.npy")));
  EXPECT_EQ(read_array<float>(target).values, (std::vector<float>{1, 2}));
  const ToolResult result =
      run({"run", "elu_backward", "--alpha", "1", "--src", src, "--diff-dst", src, "--out", "/dev/stdout"});
  EXPECT_EQ(result.status, 0) << result.err;
}

TEST_F(RunTest, NewFilesHaveOrdinaryPermissions) {
  const std::string src = write_array<float>("src.npy", {.shape = {2}, .values = {1, 2}});
  expect_good(elu(src, src));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat status {};
  ASSERT_EQ(::stat(path("out.npy").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0666U & ~mask);
}

}  // namespace
}  // namespace gradjit::test
