#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/tool/tool_test.hpp"

namespace gradjit::test {
namespace {

using Json = nlohmann::json;

class CheckTest : public ToolTest {
 protected:
  /// A small case that is right, in files of the test's directory.
  Json good_case() const {
    write_array<float>("src.npy", {.shape = {2, 2}, .values = {1, -1, 0, -200}});
    write_array<float>("g.npy", {.shape = {2, 2}, .values = {0.5, 1, -3, 1}});
    const std::vector<double> expected = {0.5, std::exp(-1.0), -3, std::exp(-200.0)};
    write_array<double>("expected.npy", {.shape = {2, 2}, .values = expected});
    return {{"name", "small"},           {"op", "elu_backward"}, {"alpha", 1},
            {"use_dst", false},          {"src", "src.npy"},     {"diff_dst", "g.npy"},
            {"expected", "expected.npy"}};
  }

  Json good_log_softmax_case() const {
    Json json = good_case();
    json.erase("alpha");
    json.erase("use_dst");
    json.erase("src");
    json["op"] = "log_softmax_backward";
    json["axis"] = 0;
    json["dst"] = "src.npy";
    json["expected"] = "log_softmax.npy";
    // The columns of diff_dst sum to -2.5 and 2.
    const std::vector<double> expected = {0.5 + 2.5 * std::exp(1.0), 1 - 2 * std::exp(-1.0), -3 + 2.5,
                                          1 - 2 * std::exp(-200.0)};
    write_array<double>("log_softmax.npy", {.shape = {2, 2}, .values = expected});
    return json;
  }

  std::string write_cases(const std::vector<Json>& cases) const {
    return write("cases.json", Json(cases).dump());
  }

  void expect_case_refused(const Json& json, const std::string& part) const {
    expect_refusal({"check", write_cases(std::vector<Json>(1, json))}, part);
  }
};

TEST_F(CheckTest, RecordedCasesPass) {
  const ToolResult result = run({"check", data_file("cases.json")});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("digits_conv_pixel_classes"), std::string::npos);
  const std::string runs = std::to_string(16 * 3 * 2 * available_isas().size());
  EXPECT_NE(result.out.find("16 cases, " + runs + " runs on portable"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("all good"), std::string::npos);
  const bool skips = available_isas().size() < 4;
  EXPECT_EQ(result.out.find("not run: ") != std::string::npos, skips) << result.out;
}

TEST_F(CheckTest, JsonHasEveryRun) {
  const ToolResult result = run({"check", data_file("cases.json"), "--json"});
  EXPECT_EQ(result.status, 0) << result.err;
  const Json document = Json::parse(result.out);
  EXPECT_TRUE(document.at("passed").get<bool>());
  EXPECT_EQ(document.at("failed").get<int>(), 0);
  EXPECT_EQ(document.at("cases").get<std::size_t>(), 16U);
  EXPECT_EQ(document.at("isas").size() + document.at("not_run").size(), 4U);
  ASSERT_EQ(document.at("results").size(), 48U);
  std::size_t runs = 0;
  for (const Json& entry : document.at("results")) {
    EXPECT_TRUE(entry.at("bits_same").get<bool>());
    EXPECT_LE(entry.at("greatest_error").get<double>(), entry.at("allowed").get<double>());
    EXPECT_GT(entry.at("greatest_error").get<double>(), 0);
    EXPECT_GT(entry.at("time").at("microseconds").get<double>(), 0);
    runs += entry.at("runs").size();
  }
  EXPECT_EQ(document.at("runs").get<std::size_t>(), runs);
  EXPECT_EQ(runs, 48 * 2 * available_isas().size());
}

TEST_F(CheckTest, ListsRestrict) {
  const ToolResult result = run({"check", write_cases(std::vector<Json>(1, good_case())), "--isa",
                                 "portable,portable", "--dtype", "f16", "--json"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  const Json document = Json::parse(result.out);
  ASSERT_EQ(document.at("results").size(), 1U);
  EXPECT_EQ(document.at("results").at(0).at("dtype"), "f16");
  EXPECT_EQ(document.at("results").at(0).at("runs").size(), 2U);
}

TEST_F(CheckTest, IsaThatIsNotThereIsRefusedByName) {
  if (has_isa("avx512_bf16")) GTEST_SKIP() << "this CPU has them all";
  expect_refusal({"check", data_file("cases.json"), "--isa", "portable,avx512_bf16"}, "avx512_bf16");
}

TEST_F(CheckTest, WrongExpectationsFail) {
  for (const Json& json : {good_case(), good_log_softmax_case()}) {
    const std::string cases = write_cases(std::vector<Json>(1, json));
    EXPECT_EQ(run({"check", cases}).status, 0);
    const auto file = json.at("expected").get<std::string>();
    auto expected = read_array<double>(path(file));
    expected.values[1] *= 1 + 0x1p-18;
    write_array(file, expected);
    const ToolResult result = run({"check", cases});
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, "");
    EXPECT_NE(result.out.find("FAILED small f32 portable out of place"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("at (0, 1), expected"), std::string::npos) << result.out;
    // Only f32 is compared with the file.
    EXPECT_EQ(run({"check", cases, "--dtype", "bf16,f16"}).status, 0);
    const ToolResult document = run({"check", cases, "--json"});
    EXPECT_EQ(document.status, 1);
    EXPECT_FALSE(Json::parse(document.out).at("passed").get<bool>());
  }
}

TEST_F(CheckTest, NanAndSignsOfZerosCount) {
  const Json json = good_case();
  const std::string cases = write_cases(std::vector<Json>(1, json));
  auto expected = read_array<double>(path("expected.npy"));
  const double good = expected.values[3];
  for (const double wrong : {std::nan(""), -0.0, -good, HUGE_VAL}) {
    expected.values[3] = wrong;
    write_array("expected.npy", expected);
    EXPECT_EQ(run({"check", cases, "--dtype", "f32"}).status, 1) << wrong;
  }
}

TEST_F(CheckTest, SpecialValuesPass) {
  const double inf = HUGE_VAL;
  const double nan = std::nan("");
  Json elu = good_case();
  elu["alpha"] = 0.37;
  const auto f = [](double value) { return static_cast<float>(value); };
  write_array<float>("src.npy",
                     {.shape = {9}, .values = {f(nan), f(-inf), f(inf), -110, 100, -0.0F, -1, -1, -120}});
  write_array<float>("g.npy",
                     {.shape = {9}, .values = {1, 1, 2, 1e30F, f(inf), -0.0F, f(nan), f(-inf), f(inf)}});
  write_array<double>("expected.npy",
                      {.shape = {9},
                       .values = {nan, 0, 2, 0.37 * std::exp(-110.0) * static_cast<double>(1e30F), inf, -0.0,
                                  nan, -inf, inf}});
  const ToolResult result = run({"check", write_cases(std::vector<Json>(1, elu))});
  EXPECT_EQ(result.status, 0) << result.out << result.err;

  // Rows of two: one good, one with a NaN, one where no bound is promised for one element.
  Json log_softmax = good_log_softmax_case();
  log_softmax["axis"] = 1;
  write_array<float>("src.npy", {.shape = {3, 2}, .values = {f(-inf), -1, -1, -1, 89, -1}});
  write_array<float>("g.npy", {.shape = {3, 2}, .values = {1, 2, f(nan), 1, 1, 1}});
  const double e = std::exp(-1.0);
  write_array<double>("log_softmax.npy", {.shape = {3, 2}, .values = {1, 2 - 3 * e, nan, nan, 0, 1 - 2 * e}});
  const ToolResult bounded = run({"check", write_cases(std::vector<Json>(1, log_softmax))});
  EXPECT_EQ(bounded.status, 0) << bounded.out << bounded.err;
  EXPECT_NE(bounded.out.find("3 elements judged by their bits only"), std::string::npos) << bounded.out;
}

TEST_F(CheckTest, NotJson) {
  for (const std::string content : {"", "{", "[", "nonsense", "[1,]", "[{\"alpha\": 1e999}]", "[\"\xff\"]"}) {
    expect_refusal({"check", write("cases.json", content)}, "not JSON");
  }
  // In plain words, and where.
  const std::string file = write("cases.json", "[1,\n  2 3]");
  expect_refusal({"check", file},
                 "gradjit: " + file + ": not JSON: line 2, column 5: syntax error while parsing");
  expect_refusal({"check", write("cases.json", "[1e999]")}, "not JSON: number overflow parsing '1e999'");
  expect_refusal({"check", write("cases.json", "{}")}, "expected a list");
  expect_refusal({"check", write("cases.json", "[]")}, "empty");
  expect_refusal({"check", path("none.json")}, "No such file");
  expect_refusal({"check", path(".")}, "directory");
  expect_refusal({"check", write("cases.json", std::string(100000, '['))}, "nested more than 100 levels");
}

TEST_F(CheckTest, MissingKeys) {
  for (const Json& json : {good_case(), good_log_softmax_case()}) {
    for (const auto& [key, value] : json.items()) {
      Json damaged = json;
      damaged.erase(key);
      expect_case_refused(damaged, "key '" + key + "': is missing");
    }
  }
}

TEST_F(CheckTest, WrongValues) {
  const std::vector<std::pair<std::string, Json>> wrong = {{"name", 1},
                                                           {"op", "relu_backward"},
                                                           {"op", nullptr},
                                                           {"alpha", "1"},
                                                           {"alpha", nullptr},
                                                           {"alpha", -1},
                                                           {"alpha", 1e39},
                                                           {"use_dst", 0},
                                                           {"use_dst", "no"},
                                                           {"src", 1},
                                                           {"src", ""},
                                                           {"src", "none.npy"},
                                                           {"src", Json::array()},
                                                           {"diff_dst", "."},
                                                           {"expected", "g.npy"},
                                                           {"src", "expected.npy"}};
  for (const auto& [key, value] : wrong) {
    Json damaged = good_case();
    damaged[key] = value;
    expect_case_refused(damaged, "key '" + key + "'");
  }
  for (const Json& axis :
       {Json(2), Json(-3), Json(0.5), Json("0"), Json(18446744073709551615U), Json(true)}) {
    Json damaged = good_log_softmax_case();
    damaged["axis"] = axis;
    expect_case_refused(damaged, "case 'small': key 'axis'");
  }
  expect_case_refused(1, "case 1: expected an object, found 1");
  expect_refusal({"check", write_cases(std::vector<Json>(2, good_case()))}, "used twice");
}

TEST_F(CheckTest, WrongTensors) {
  const Json json = good_case();
  const auto expect_refused = [&](const std::string& key, const std::string& part) {
    expect_case_refused(json, "case 'small': key '" + key + "': ");
    expect_case_refused(json, part);
    (void)good_case();  // restores the files
  };
  write_array<float>("src.npy", {.shape = {4}, .values = {1, -1, 0, -2}});
  expect_refused("src", "shape (4,) differs from diff_dst's (2, 2)");
  write_array<double>("expected.npy", {.shape = {2, 1}, .values = {1, 2}});
  expect_refused("expected", "shape (2, 1) differs");
  write("g.npy", "nothing");
  expect_refused("diff_dst", "not a .npy file");
  write("g.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", std::string(16, '\0')));
  expect_refused("diff_dst", "Fortran order");
}

}  // namespace
}  // namespace gradjit::test
