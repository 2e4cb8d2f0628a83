#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tool/tool_test.hpp"

namespace gradjit::test {
namespace {

std::vector<Arguments> all_requests() {
  std::vector<Arguments> operations;
  for (const std::string alpha : {"1", "0", "0.37", "3", "inf"}) {
    for (const std::string use_dst : {"true", "false"}) {
      operations.push_back({"elu_backward", "--alpha", alpha, "--use-dst", use_dst});
    }
  }
  for (const std::string shape : {"64,1024", "1024,10", "77,3", "50,33", "64,1000", "2,300000"}) {
    operations.push_back({"log_softmax_backward", "--shape", shape});
  }
  for (const std::string shape : {"16,128,8,8", "3,7,5", "2,200000,3"}) {
    operations.push_back({"log_softmax_backward", "--shape", shape, "--axis", "1"});
  }
  std::vector<Arguments> requests;
  for (const Arguments& operation : operations) {
    for (const std::string dtype : {"f32", "bf16", "f16"}) {
      for (const std::string isa : {"avx2", "avx512", "avx512_bf16"}) {
        Arguments request = {"dump"};
        request.insert(request.end(), operation.begin(), operation.end());
        request.insert(request.end(), {"--dtype", dtype, "--isa", isa});
        requests.push_back(request);
      }
    }
  }
  return requests;
}

std::string joined(const Arguments& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += argument + " ";
  return text;
}

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

bool has_program(const std::string& name) {
  return std::system((name + " --version > /dev/null 2>&1").c_str()) == 0;
}

class DumpTest : public ToolTest {
 protected:
  std::string dump(const Arguments& arguments) const {
    const ToolResult result = run(arguments);
    EXPECT_EQ(result.status, 0) << joined(arguments) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }

  /// How many kernels a request needs: the headers of its hex dump.
  int kernels_of(const Arguments& request) const {
    const std::string text = dump(with(request, {"--format", "hex"}));
    int count = 0;
    for (std::size_t at = text.find("# isa "); at != std::string::npos; at = text.find("# isa ", at + 1))
      ++count;
    return count;
  }
};

TEST_F(DumpTest, EveryListingIsComplete) {
  for (const Arguments& request : all_requests()) {
    SCOPED_TRACE(joined(request));
    const std::string text = dump(request);
    EXPECT_TRUE(text.starts_with("; " + request[1] + "_")) << text.substr(0, 80);
    EXPECT_NE(text.find("\n; --- "), std::string::npos);
    EXPECT_NE(text.find("endbr64"), std::string::npos);
    EXPECT_NE(text.find("vzeroupper"), std::string::npos);
    EXPECT_NE(text.find("  ret\n"), std::string::npos);
    // Every place that is referred to has its name.
    EXPECT_EQ(text.find("rip + 0x"), std::string::npos);
    EXPECT_FALSE(std::regex_search(text, std::regex("  j[a-z]+ [^L]")));
  }
}

TEST_F(DumpTest, AssemblesToTheSameBytes) {
  if (!has_program("as") || !has_program("objcopy")) GTEST_SKIP() << "no GNU assembler";
  for (const Arguments& request : all_requests()) {
    SCOPED_TRACE(joined(request));
    for (int kernel = 1; kernel <= kernels_of(request); ++kernel) {
      const Arguments one = with(request, {"--kernel", std::to_string(kernel)});
      dump(with(one, {"--format", "gas", "--out", path("kernel.s")}));
      dump(with(one, {"--format", "bin", "--out", path("kernel.bin")}));
      const std::string assemble = "cd '" + path("") + "' && as --64 kernel.s -o kernel.o && " +
                                   "objcopy -O binary -j .text kernel.o assembled.bin";
      ASSERT_EQ(std::system(assemble.c_str()), 0);
      const std::string assembled = read_file(path("assembled.bin"));
      const std::string emitted = read_file(path("kernel.bin"));
      ASSERT_FALSE(emitted.empty());
      const auto difference =
          std::mismatch(emitted.begin(), emitted.end(), assembled.begin(), assembled.end());
      EXPECT_TRUE(assembled == emitted) << "at " << difference.first - emitted.begin();
    }
  }
}

TEST_F(DumpTest, HexIsWhatBinIs) {
  const Arguments request = {"dump", "elu_backward", "--alpha", "1", "--isa", "avx512"};
  const std::string bytes = dump(with(request, {"--format", "bin"}));
  std::istringstream hex(dump(with(request, {"--format", "hex"})));
  std::string decoded;
  for (std::string line; std::getline(hex, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string word;
    words >> word;
    while (words >> word) decoded += static_cast<char>(std::stoi(word, nullptr, 16));
  }
  EXPECT_EQ(decoded, bytes);
}

TEST_F(DumpTest, Bf16InstructionsAppearWhereTheyAre) {
  const auto text_for = [&](const std::string& isa) {
    return dump({"dump", "log_softmax_backward", "--dtype", "bf16", "--shape", "64,1024", "--isa", isa});
  };
  EXPECT_NE(text_for("avx512_bf16").find("vcvtneps2bf16"), std::string::npos);
  EXPECT_EQ(text_for("avx512").find("vcvtne"), std::string::npos);
  EXPECT_EQ(text_for("avx2").find("zmm"), std::string::npos);
}

TEST_F(DumpTest, ConstantsHaveNamesAndValues) {
  const std::string text =
      dump({"dump", "elu_backward", "--alpha", "1", "--use-dst", "false", "--isa", "avx2"});
  EXPECT_NE(text.find("[rip + c1]"), std::string::npos) << text;
  EXPECT_NE(text.find("; c1 = "), std::string::npos);
  EXPECT_NE(text.find("\nc1:\n"), std::string::npos);
  EXPECT_NE(text.find(".long 0x"), std::string::npos);
  const std::string att = dump(
      {"dump", "elu_backward", "--alpha", "1", "--use-dst", "false", "--isa", "avx2", "--format", "att"});
  EXPECT_NE(att.find("c1(%rip)"), std::string::npos) << att;
  EXPECT_NE(att.find("# --- "), std::string::npos);
}

TEST_F(DumpTest, BytesAreShownOnDemand) {
  const Arguments request = {"dump", "elu_backward", "--alpha", "1", "--isa", "avx2"};
  EXPECT_EQ(dump(request).find("f3 0f 1e fa"), std::string::npos);
  EXPECT_NE(dump(with(request, {"--bytes"})).find("f3 0f 1e fa"), std::string::npos);
}

TEST_F(DumpTest, WhatCannotBeDumped) {
  const Arguments elu = {"dump", "elu_backward", "--alpha", "1"};
  expect_refusal(with(elu, {"--isa", "portable"}), "no generated code");
  expect_refusal(elu, "no code is generated", {"GRADJIT_MAX_ISA=portable"});
  expect_refusal(with(elu, {"--isa", "avx2", "--format", "elf"}), "--format");
  expect_refusal(with(elu, {"--isa", "avx2", "--use-dst", "yes"}), "--use-dst");
  expect_refusal(with(elu, {"--isa", "avx2", "--dtype", "f64"}), "f64");
  expect_refusal(with(elu, {"--isa", "avx2", "--kernel", "2"}), "--kernel");
  expect_refusal(with(elu, {"--isa", "avx2", "--kernel", "0"}), "--kernel");
  expect_refusal(with(elu, {"--isa", "avx2", "--shape", "0"}), "no elements");
  expect_refusal({"dump", "elu_backward"}, "--alpha");
  expect_refusal({"dump", "elu_backward", "--alpha", "-1", "--isa", "avx2"}, "alpha");
  expect_refusal({"dump", "log_softmax_backward", "--isa", "avx2"}, "--shape");
  for (const std::string shape : {"x", "1,", "-1", "1x2", "4294967296,4294967296"}) {
    expect_refusal({"dump", "log_softmax_backward", "--isa", "avx2", "--shape", shape}, "");
  }
  expect_refusal({"dump", "log_softmax_backward", "--isa", "avx2", "--shape", "2,3", "--axis", "2"}, "axis");
  expect_refusal(with(elu, {"--isa", "avx2", "--out", "/dev/full"}), "No space left");
  EXPECT_EQ(file_count(), 0U);
}

}  // namespace
}  // namespace gradjit::test
