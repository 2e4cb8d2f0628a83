#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "tests/tool/tool_test.hpp"

namespace gradjit::test {
namespace {

class ArgumentsTest : public ToolTest {};

TEST_F(ArgumentsTest, HelpAndVersionAreNoErrors) {
  for (const Arguments& arguments : {Arguments{"--help"},
                                     {"run", "--help"},
                                     {"run", "elu_backward", "--help"},
                                     {"check", "--help"},
                                     {"dump", "-h"}}) {
    const ToolResult result = run(arguments);
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.out.find("Usage: gradjit"), std::string::npos) << result.out;
    EXPECT_EQ(result.err, "");
  }
  const ToolResult version = run({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_TRUE(version.out.starts_with("gradjit ")) << version.out;
}

TEST_F(ArgumentsTest, WrongUsageIsOneLine) {
  expect_refusal(
      {}, "gradjit: a command is missing; expected one of info, check, run, dump, graph, verify, bench\n");
  expect_refusal({"frobnicate"}, "'frobnicate' is no command; expected one of info, check");
  expect_refusal({"--frobnicate"}, "");
  expect_refusal({"info", "surplus"}, "surplus");
  expect_refusal({"run"}, "elu_backward, log_softmax_backward");
  expect_refusal({"run", "softmax"}, "'softmax' is no command; expected one of elu_backward");
  expect_refusal({"check"}, "required");
  expect_refusal({"dump"}, "elu_backward, log_softmax_backward");
  expect_refusal({"run", "elu_backward"}, "required");
  expect_refusal({"run", "elu_backward", "--alpha"}, "--alpha");
  expect_refusal({"info", "a\nb"}, "a\\nb");
}

TEST_F(ArgumentsTest, DeeplyNestedJsonIsRefused) {
  const std::string file = write("deep.json", std::string(100000, '[') + std::string(100000, ']'));
  expect_refusal({"graph", file}, "nested more than 100 levels deep");
  expect_refusal({"check", file}, "nested more than 100 levels deep");
}

TEST_F(ArgumentsTest, WrongValuesAreNamed) {
  const std::string x = write_array<float>("x.npy", {.shape = {2}, .values = {1, 2}});
  const auto elu = [&](const std::string& alpha, const Arguments& more) {
    Arguments arguments = {"run", "elu_backward", "--alpha", alpha,   "--src",
                           x,     "--diff-dst",   x,         "--out", path("o.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  for (const std::string alpha : {"", "x", "1x", " 1", "0x", "1e39"})
    expect_refusal(elu(alpha, {}), "--alpha");
  expect_refusal(elu("-1", {}), "alpha");
  expect_refusal(elu("nan", {}), "alpha");
  expect_refusal(elu("1", {"--isa", "sse2"}), "avx512_bf16");
  expect_refusal(elu("1", {"--dtype", "f64"}), "bf16");
  expect_refusal(elu("1", {"--dst", x}), "either --src or --dst");
  expect_refusal(elu("1", {"--alpha", "2"}), "--alpha");
  for (const std::string axis : {"", "x", "1.5", "99999999999999999999", "true", "1", "-2"}) {
    expect_refusal(
        {"run", "log_softmax_backward", "--axis", axis, "--dst", x, "--diff-dst", x, "--out", path("o.npy")},
        "axis");
  }
  expect_refusal({"check", data_file("cases.json"), "--dtype", "f32,,f16"}, "--dtype");
  expect_refusal({"check", data_file("cases.json"), "--isa", "avx3"}, "avx3");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(ArgumentsTest, EmptyIsNoDefault) {
  const std::string x = write_array<float>("x.npy", {.shape = {2}, .values = {1, 2}});
  const Arguments run_elu = {"run", "elu_backward", "--alpha", "1",     "--dst",
                             x,     "--diff-dst",   x,         "--out", path("o.npy")};
  const Arguments dump_elu = {"dump", "elu_backward", "--alpha", "1"};
  const std::string graph = data_file("graph/sixteen_bits.json");
  const std::vector<std::pair<Arguments, std::vector<std::string>>> commands = {
      {run_elu, {"--isa", "--dtype", "--src"}},
      {dump_elu, {"--isa", "--kernel", "--out"}},
      {{"check", data_file("cases.json")}, {"--isa"}},
      {{"verify"}, {"--isa"}},
      {{"graph", graph}, {"--isa"}}};
  for (const auto& [command, options] : commands) {
    for (const std::string& option : options) {
      Arguments arguments = command;
      arguments.insert(arguments.end(), {option, ""});
      expect_refusal(arguments, option + ": '' is no value");
    }
  }
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(ArgumentsTest, MaxIsaOfTheEnvironmentIsObeyed) {
  const Environment portable = {"GRADJIT_MAX_ISA=portable"};
  const ToolResult info = run({"info"}, portable);
  EXPECT_EQ(info.status, 0);
  EXPECT_NE(info.out.find("isa          portable (GRADJIT_MAX_ISA=portable"), std::string::npos) << info.out;
  const Environment wrong = {"GRADJIT_MAX_ISA=sse"};
  expect_refusal({"info"}, "avx512_bf16", wrong);
  // Code is shown for any isa, and a wrong name is wrong all the same.
  const Arguments dump = {"dump", "elu_backward", "--alpha", "1", "--isa", "avx512"};
  expect_refusal(dump, "GRADJIT_MAX_ISA: instruction set is \"sse\", expected one of portable, avx2", wrong);
  EXPECT_EQ(run(dump, portable).status, 0);
  if (has_isa("avx2")) {
    expect_refusal({"check", data_file("cases.json"), "--isa", "avx2"}, "GRADJIT_MAX_ISA", portable);
  }
}

TEST_F(ArgumentsTest, FullStdoutIsAnError) {
  const std::vector<Arguments> commands = {{"--help"},
                                           {"info"},
                                           {"info", "--json"},
                                           {"check", data_file("cases.json"), "--isa", "portable"},
                                           {"dump", "elu_backward", "--alpha", "1", "--isa", "avx2"}};
  for (const Arguments& arguments : commands) {
    const ToolResult result = run_into("/dev/full", arguments);
    EXPECT_EQ(result.status, 2) << arguments.front();
    EXPECT_NE(result.err.find("stdout: cannot write"), std::string::npos) << result.err;
  }
}

TEST_F(ArgumentsTest, InfoIsReadableAndJson) {
  const ToolResult text = run({"info"});
  EXPECT_EQ(text.status, 0);
  for (const char* name : {"CPU ", "features ", "isa ", "L1d ", "gradjit ", "Xbyak ", "compiler "}) {
    EXPECT_NE(text.out.find(name), std::string::npos) << name;
  }
  if (const std::size_t at = text.out.find("cpu_features "); at != std::string::npos) {
    EXPECT_TRUE(std::isdigit(text.out.at(at + 13))) << text.out;
  }
  const ToolResult json = run({"info", "--json"});
  EXPECT_EQ(json.status, 0);
  EXPECT_TRUE(json.out.starts_with("{")) << json.out;
  EXPECT_NE(json.out.find("\"isa\": \"" + available_isas().back() + "\""), std::string::npos) << json.out;
}

}  // namespace
}  // namespace gradjit::test
