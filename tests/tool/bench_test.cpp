#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/tool/tool_test.hpp"

namespace gradjit::test {
namespace {

using Json = nlohmann::json;

class MaybeBenchTest : public ToolTest {
 protected:
  [[nodiscard]] bool has_bench() const {
    return run({"bench", "--help"}).out.find("--filter") != std::string::npos;
  }
};

class BenchTest : public MaybeBenchTest {
 protected:
  void SetUp() override {
    if (!has_bench()) GTEST_SKIP() << "the tool is built without Google Benchmark";
  }

  /// The arguments of a quick run of some cases, without peers.
  static Arguments quick(const std::string& filter, const Arguments& more = {}) {
    Arguments arguments = {"bench", "--quick", "--peers", "none", "--filter", filter};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  /// The cases of the document that a quick run writes.
  Json cases_of(const std::string& filter, const Arguments& more = {}) const {
    Arguments arguments = quick(filter, more);
    arguments.insert(arguments.end(), {"--json", path("bench.json")});
    const ToolResult result = run(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(read_file(path("bench.json"))).at("cases");
  }
};

/// Whether tags are closed in the order in which they are opened, and nothing that XML reserves is left.
bool is_well_formed(std::string_view xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size();) {
    if (xml[at] == '&') {
      const std::size_t end = xml.find(';', at);
      if (end == std::string_view::npos || end - at > 6) return false;
    }
    if (xml[at] != '<') {
      if (open.empty() && std::isspace(static_cast<unsigned char>(xml[at])) == 0) return false;
      ++at;
      continue;
    }
    const std::size_t end = xml.find('>', at);
    if (end == std::string_view::npos) return false;
    const std::string_view tag = xml.substr(at + 1, end - at - 1);
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0 || tag.find('<') != std::string_view::npos)
      return false;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.emplace_back(tag.substr(0, tag.find_first_of(" \n")));
    }
    at = end + 1;
  }
  return open.empty();
}

TEST_F(BenchTest, TableHasTheCase) {
  const ToolResult result = run(quick("^elu_backward_f32_src_16$"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("\nelu_backward_f32_src_16 "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("1 cases, "), std::string::npos) << result.out;
}

TEST_F(BenchTest, JsonHasEveryField) {
  for (const Json& entry : cases_of("^(elu|log_softmax)_backward_f32_(src_64|1x64)$")) {
    const bool is_elu = entry.at("op") == "elu_backward";
    EXPECT_TRUE(is_elu || entry.at("op") == "log_softmax_backward");
    EXPECT_EQ(entry.at("name"), is_elu ? "elu_backward_f32_src_64" : "log_softmax_backward_f32_1x64");
    EXPECT_EQ(entry.at("dtype"), "f32");
    EXPECT_EQ(entry.at("shape"), is_elu ? Json({64}) : Json({1, 64}));
    EXPECT_EQ(entry.at("axis"), is_elu ? Json() : Json(1));
    EXPECT_EQ(entry.at("use_dst"), is_elu ? Json(false) : Json());
    EXPECT_EQ(entry.at("in_place"), false);
    EXPECT_TRUE(has_isa(entry.at("isa").get<std::string>()));
    EXPECT_EQ(entry.at("threads"), 1);
    EXPECT_EQ(entry.at("elements"), 64);
    EXPECT_GT(entry.at("gradjit_ns").get<double>(), 0);
    EXPECT_GT(entry.at("roofline_ns").get<double>(), 0);
    EXPECT_GT(entry.at("of_roofline").get<double>(), 0);
    for (const char* field : {"onednn_ns", "torch_ns", "speedup_onednn", "speedup_torch"}) {
      EXPECT_TRUE(entry.at(field).is_null()) << field;
    }
  }
}

TEST_F(BenchTest, DocumentNamesTheMachine) {
  EXPECT_EQ(cases_of("^(elu|log_softmax)_backward_f32_(src_64|1x64)$").size(), 2U);
  const Json document = Json::parse(read_file(path("bench.json")));
  const Json info = Json::parse(run({"info", "--json"}).out);
  EXPECT_EQ(document.at("cpu"), info.at("cpu").at("brand"));
  EXPECT_EQ(document.at("isa"), info.at("isa"));
  EXPECT_EQ(document.at("quick"), true);
  EXPECT_TRUE(document.at("versions").at("gradjit").is_string());
  EXPECT_EQ(document.at("not_run"), Json::array());
}

TEST_F(BenchTest, JsonOnStdoutStandsAlone) {
  const ToolResult result = run(quick("f32_src_16$", {"--json", "/dev/stdout"}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out).at("cases").size(), 1U);
}

TEST_F(BenchTest, EveryKindOfCaseRuns) {
  const Json cases = cases_of("^(create|hit|hit_same_kernel)_elu_backward_f32_src_4096$|64x256_stride2$");
  ASSERT_GE(cases.size(), 6U);
  for (const Json& entry : cases) EXPECT_GT(entry.at("gradjit_ns").get<double>(), 0) << entry;
}

TEST_F(BenchTest, OtherInstructionSetsAreMeasuredApart) {
  if (!has_isa("avx512")) GTEST_SKIP() << "AVX2 is the highest here";
  const Json cases = cases_of("^elu_backward_f32_src_4096");
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_NE(cases.at(0).at("isa"), "avx2");
  EXPECT_EQ(cases.at(1).at("isa"), "avx2");
  EXPECT_EQ(cases.at(1).at("name"), "elu_backward_f32_src_4096_avx2");
}

TEST_F(BenchTest, IsaHoldsForAllCases) {
  for (const Json& entry : cases_of("^elu_backward_f32_src_(16|64)$", {"--isa", "portable"})) {
    EXPECT_EQ(entry.at("isa"), "portable");
    EXPECT_EQ(entry.at("targets"), Json::array());
  }
}

TEST_F(BenchTest, PlotIsWellFormed) {
  const ToolResult result = run(quick("_f32_src_(16|64)$", {"--plot", path("speed.svg")}));
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string svg = read_file(path("speed.svg"));
  EXPECT_TRUE(svg.starts_with("<svg ")) << svg;
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  EXPECT_NE(svg.find("EluBackward, from src, f32"), std::string::npos) << svg;
  EXPECT_NE(svg.find("<polyline"), std::string::npos) << svg;
}

TEST_F(BenchTest, WrongArguments) {
  expect_refusal({"bench", "--filter", "("}, "--filter: '('");
  expect_refusal({"bench", "--filter", "no_such_case"}, "matches no case");
  expect_refusal({"bench", "--peers", "onednn,eigen"}, "--peers: 'eigen' is no peer");
  for (const std::string option : {"--filter", "--peers", "--json", "--plot", "--isa"}) {
    expect_refusal({"bench", option, ""}, option + ": '' is no value");
  }
  expect_refusal({"bench", "--isa", "sse9"}, "sse9");
  const std::string filter = "f32_src_16$";
  expect_refusal(quick(filter, {"--json", path("missing/bench.json")}), "cannot write");
  expect_refusal(quick(filter, {"--json", path(".")}), "cannot write");
  expect_refusal(quick(filter, {"--plot", path("missing/speed.svg")}), "cannot write");
  expect_refusal(quick(filter, {"--plot", path("speed.png")}), "does not end in .svg");
  expect_refusal(quick("4096", {"--json", path("a.svg"), "--plot", path("./a.svg")}), "expected another");
  expect_refusal(quick("^create_elu_backward_f32_dst", {"--plot", path("speed.svg")}), "none of the cases");
  EXPECT_EQ(file_count(), 0U);
}

TEST_F(BenchTest, Peers) {
  const std::filesystem::path directory = std::filesystem::path(GRADJIT_TOOL_PATH).parent_path();
  for (const std::string peer : {"onednn", "torch"}) {
    if (!std::filesystem::exists(directory / ("gradjit_peer_" + peer + ".so"))) {
      expect_refusal({"bench", "--peers", peer}, "tools/bench --peers " + peer);
      continue;
    }
    // What the other library leaks is not ours.
    const ToolResult result = run({"bench", "--quick", "--filter", "^elu_backward_f(32|16)_src_4096$",
                                   "--peers", peer, "--json", path("bench.json")},
                                  {"ASAN_OPTIONS=detect_leaks=0"});
    EXPECT_EQ(result.status, 0) << result.err;
    const Json document = Json::parse(read_file(path("bench.json")));
    EXPECT_TRUE(document.at("versions").at(peer).is_string());
    const Json& f32 = document.at("cases").at(0);
    EXPECT_GT(f32.at(peer + "_ns").get<double>(), 0);
    EXPECT_GT(f32.at("speedup_" + peer).get<double>(), 0);
    // Either it has f16 or it says why not.
    const Json& f16 = document.at("cases").at(1);
    EXPECT_EQ(f16.at(peer + "_ns").is_null(), !f16.at("refusals").value(peer, "").empty()) << f16;
  }
}

using LeftOutBenchTest = MaybeBenchTest;

TEST_F(LeftOutBenchTest, SaysHowToGetIt) {
  if (has_bench()) GTEST_SKIP() << "the tool is built with Google Benchmark";
  expect_refusal({"bench", "--quick", "--filter", "."}, "built without Google Benchmark: run tools/bench");
}

}  // namespace
}  // namespace gradjit::test
