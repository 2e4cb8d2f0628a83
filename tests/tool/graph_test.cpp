#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/tool/tool_test.hpp"

namespace gradjit::test {
namespace {

using Json = nlohmann::json;

/// What oneDNN writes where it doesn't know a size.
constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::min();

class GraphTest : public ToolTest {
 protected:
  static Json tensor(const std::string& dtype, const std::vector<std::int64_t>& shape) {
    Json stride = Json::array();
    std::int64_t step = 1;
    for (std::size_t i = shape.size(); i-- > 0; step *= shape[i]) stride.insert(stride.begin(), step);
    return {{"id", 0},          {"dtype", dtype},           {"shape", shape},
            {"stride", stride}, {"layout_type", "strided"}, {"property_type", "undef"}};
  }

  static Json node(const std::string& kind, const Json& attributes, const Json& tensor) {
    return {{"id", 7},
            {"name", "n"},
            {"kind", kind},
            {"attrs", attributes},
            {"inputs", {tensor, tensor}},
            {"outputs", Json::array({tensor})}};
  }

  static Json elu(const Json& tensor) {
    return node("EluBackward",
                {{"alpha", {{"type", "f32"}, {"value", 1}}}, {"use_dst", {{"type", "bool"}, {"value", 0}}}},
                tensor);
  }

  static Json log_softmax(const Json& tensor) {
    return node("LogSoftmaxBackward", {{"axis", {{"type", "s64"}, {"value", -1}}}}, tensor);
  }

  [[nodiscard]] std::string write_graph(const Json& nodes, const std::string& key = "graph") const {
    return write("graph.json", Json{{"version", "3.9.1"}, {key, nodes}}.dump());
  }

  [[nodiscard]] Json run_json(const std::string& file, const Arguments& more = {}) const {
    Arguments arguments = {"graph", file, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ToolResult result = run(arguments);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_EQ(result.err, "");
    return Json::parse(result.out);
  }

  /// That `json` with `value` at `pointer` is refused, and that the message names all of it.
  void expect_refused(Json json, const std::string& pointer, const Json& value,
                      const std::string& part) const {
    json[Json::json_pointer(pointer)] = value;
    const std::string file = write_graph(Json::array({json}));
    expect_refusal({"graph", file}, "gradjit: " + file + ": node 'n' (id 7): " + part);
  }
};

TEST_F(GraphTest, DumpsPass) {
  const std::string step = data_file("graph/training_step.json");
  const ToolResult result = run({"graph", step, data_file("graph/sixteen_bits.json")});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  const std::vector<std::string> parts = {
      "loss_bwd (11)",
      "elu_bwd (13)",
      "alpha 0.37, src",
      "alpha 1, dst",
      "axis -1",
      "(2, 3, 8, 5)",
      "not run: " + step + ": 1 End, 2 MatMul\n",
      "2 files, 6 nodes in 6 runs, 3 other operations not run, seed 1: all good\n"};
  for (const std::string& part : parts) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  }
}

TEST_F(GraphTest, JsonHasEveryRun) {
  const Json document = run_json(data_file("graph/sixteen_bits.json"), {"--isa", "portable", "--seed", "5"});
  EXPECT_TRUE(document.at("passed").get<bool>());
  EXPECT_EQ(document.at("seed"), 5);
  EXPECT_EQ(document.at("nodes"), 4);
  EXPECT_EQ(document.at("runs"), 4);
  EXPECT_EQ(document.at("not_run"), 0);
  const Json& nodes = document.at("files").at(0).at("nodes");
  EXPECT_EQ(nodes.at(1).at("use_dst"), true) << "the default";
  EXPECT_EQ(nodes.at(3).at("axis"), -1) << "the default";
  for (const Json& entry : nodes) {
    const Json& only = entry.at("runs").at(0);
    EXPECT_EQ(only.at("isa"), "portable");
    EXPECT_TRUE(only.at("bits_same").get<bool>());
    EXPECT_GT(only.at("of_bound").get<double>(), 0);
    EXPECT_LE(only.at("of_bound").get<double>(), 1);
    EXPECT_GT(only.at("microseconds").get<double>(), 0);
  }
}

TEST_F(GraphTest, EveryIsaGivesTheSameResults) {
  std::string isas;
  for (const std::string& isa : available_isas()) isas += (isas.empty() ? "" : ",") + isa;
  const Json document = run_json(data_file("graph/training_step.json"), {"--isa", isas});
  for (const Json& entry : document.at("files").at(0).at("nodes")) {
    ASSERT_EQ(entry.at("runs").size(), available_isas().size());
    for (const Json& each : entry.at("runs")) {
      EXPECT_EQ(each.at("greatest_error"), entry.at("runs").at(0).at("greatest_error"));
    }
  }
}

TEST_F(GraphTest, SeedDecidesTheValues) {
  const std::string file = write_graph(Json::array({log_softmax(tensor("f32", {8, 33}))}));
  const auto error_with = [&](const std::string& seed) {
    return run_json(file, {"--seed", seed}).at("files").at(0).at("nodes").at(0).at("runs").at(0).at("at");
  };
  EXPECT_EQ(error_with("1"), error_with("1"));
  EXPECT_NE(error_with("1"), error_with("2"));
}

TEST_F(GraphTest, ShapesAndLayoutsWork) {
  Json scalar = tensor("f32", {});
  Json empty = tensor("bf16", {3, 0, 2});
  Json any = tensor("f16", {3, 5});
  any["layout_type"] = "any";
  any["stride"] = {unknown};
  Json broadcast = elu(tensor("f32", {4, 6}));
  broadcast["inputs"][1]["stride"] = {0, 1};
  Json infinite = elu(tensor("f32", {100}));
  infinite["attrs"]["alpha"]["value"] = "inf";
  infinite["attrs"]["use_dst"]["value"] = true;
  const Json nodes = {elu(scalar), log_softmax(scalar), elu(empty), log_softmax(empty),
                      elu(any),    log_softmax(any),    broadcast,  infinite};
  EXPECT_EQ(run_json(write_graph(nodes)).at("runs"), 8);
  EXPECT_EQ(run_json(write_graph(nodes, "nodes")).at("runs"), 8);

  // The names before oneDNN 3.0.
  Json old_elu = elu(scalar);
  Json old_log_softmax = log_softmax(scalar);
  old_elu["kind"] = "EluBackprop";
  old_log_softmax["kind"] = "LogSoftmaxBackprop";
  EXPECT_EQ(run_json(write_graph({old_elu, old_log_softmax})).at("runs"), 2);
}

TEST_F(GraphTest, GraphWithoutTheOperationsSaysSo) {
  const ToolResult result =
      run({"graph", write_graph(Json::array({node("ReLU", Json::object(), tensor("s8", {2}))}))});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("graph.json: 1 ReLU\n1 files, 0 nodes in 0 runs, 1 other"), std::string::npos)
      << result.out;
}

TEST_F(GraphTest, DamagedFilesAreRefused) {
  expect_refusal({"graph", write("graph.json", "{\"graph\": [")},
                 "graph.json: not JSON: line 1, column 12: ");
  expect_refusal({"graph", write("graph.json", "{\"graph\": [{\"alpha\": inf}]}")}, "not JSON: line 1");
  expect_refusal({"graph", write("graph.json", "[]")}, "graph.json: expected an object, found []");
  expect_refusal({"graph", write("graph.json", "{}")}, "graph.json: key 'graph': is missing");
  expect_refusal({"graph", write_graph(1)}, "key 'graph': expected a list, found 1");
  expect_refusal({"graph", write_graph(Json::array())}, "key 'graph': expected operations, found none");
  expect_refusal({"graph", write_graph({1})}, "graph.json: graph[0]: expected an object, found 1");
  expect_refusal({"graph", write_graph({{{"id", 1}}})}, "graph.json: graph[0]: key 'kind': is missing");
  expect_refusal({"graph", path("none.json")}, "none.json");
  expect_refusal({"graph"}, "FILE.json");
  // Nothing is run, and nothing printed, when the second file is damaged.
  expect_refusal({"graph", data_file("graph/sixteen_bits.json"), write("graph.json", "{}")}, "graph.json");
}

TEST_F(GraphTest, MissingKeysAreNamed) {
  const std::vector<std::string> pointers = {"/attrs",
                                             "/attrs/alpha",
                                             "/attrs/alpha/type",
                                             "/attrs/alpha/value",
                                             "/attrs/use_dst/value",
                                             "/inputs",
                                             "/outputs",
                                             "/inputs/0/dtype",
                                             "/inputs/1/shape",
                                             "/outputs/0/stride",
                                             "/inputs/0/layout_type"};
  for (const std::string& pointer : pointers) {
    Json json = elu(tensor("f32", {2, 3}));
    const Json::json_pointer place(pointer);
    json[place.parent_pointer()].erase(place.back());
    const std::string file = write_graph(Json::array({json}));
    expect_refusal({"graph", file}, "node 'n' (id 7): key '");
    expect_refusal({"graph", file}, place.back() + "': is missing");
  }
  for (const std::string key : {"id", "name"}) {
    Json json = elu(tensor("f32", {2, 3}));
    json.erase(key);
    expect_refusal({"graph", write_graph(Json::array({json}))}, "graph[0]: key '" + key + "': is missing");
  }
}

TEST_F(GraphTest, WrongAttributesAreNamed) {
  const Json elu_node = elu(tensor("f32", {2, 3}));
  expect_refused(elu_node, "/attrs", 1, "key 'attrs': expected an object, found 1");
  expect_refused(elu_node, "/attrs/alpha", 1, "key 'attrs.alpha': expected an object, found 1");
  expect_refused(elu_node, "/attrs/alpha/type", "s64", "key 'attrs.alpha.type': expected 'f32', found 's64'");
  expect_refused(elu_node, "/attrs/alpha/value", "1", "key 'attrs.alpha.value': expected a number");
  expect_refused(elu_node, "/attrs/alpha/value", -1,
                 "key 'attrs.alpha.value': expected at least 0, found -1");
  expect_refused(elu_node, "/attrs/alpha/value", 1e39, "key 'attrs.alpha.value': 1e+39 is beyond");
  expect_refused(elu_node, "/attrs/use_dst/value", 2,
                 "key 'attrs.use_dst.value': expected 0, 1, false or true, found 2");
  const Json log_softmax_node = log_softmax(tensor("f32", {2, 3}));
  expect_refused(log_softmax_node, "/attrs/axis/value", 1.5,
                 "key 'attrs.axis.value': expected a 64-bit whole number");
  expect_refused(log_softmax_node, "/attrs/axis/value", 2, "axis is 2, expected -2 to 1");
}

TEST_F(GraphTest, WrongTensorsAreNamed) {
  const Json json = elu(tensor("f32", {2, 3}));
  const Json good = tensor("f32", {2, 3});
  expect_refused(json, "/inputs", Json::array({good}), "key 'inputs': expected a list of 2, found 1");
  expect_refused(json, "/outputs", Json::array({good, good}), "key 'outputs': expected a list of 1, found 2");
  expect_refused(json, "/inputs/1", 3, "key 'inputs[1]': expected an object, found 3");
  expect_refused(json, "/inputs/0/dtype", "s8",
                 "key 'inputs[0].dtype': expected f32, bf16 or f16, found 's8'");
  expect_refused(json, "/inputs/1/dtype", "f16",
                 "key 'inputs[1].dtype': expected that of inputs[0], f32, found f16");
  for (const std::int64_t size : {unknown, std::int64_t{-1}}) {
    expect_refused(json, "/outputs/0/shape", {size},
                   "key 'outputs[0].shape': expected numbers of 0 and more, found " + std::to_string(size));
  }
  expect_refused(json, "/inputs/0/shape", {2, "3"},
                 "key 'inputs[0].shape': expected 64-bit whole numbers, found \"3\"");
  expect_refused(json, "/inputs/0/shape", 6, "key 'inputs[0].shape': expected a list, found 6");
  expect_refused(json, "/outputs/0", tensor("f32", {3, 2}),
                 "key 'outputs[0].shape': expected that of inputs[0], (2, 3), found (3, 2)");
  expect_refused(json, "/inputs/1/stride", {1},
                 "key 'inputs[1].stride': expected as many numbers as the shape (2, 3)");
  expect_refused(json, "/inputs/1/stride", {unknown},
                 "key 'inputs[1].stride': expected numbers of 0 and more");
  expect_refused(json, "/inputs/1/layout_type", "opaque", "key 'inputs[1].layout_type': expected 'strided'");
  expect_refused(json, "/outputs/0/stride", {0, 1}, "diff_src");
}

/// The library's message says which tensor it took an input for.
TEST_F(GraphTest, InputsAreTakenInOneDnnsOrder) {
  const std::int64_t far = std::numeric_limits<std::int64_t>::max();
  Json from_dst = elu(tensor("f32", {2, 3}));
  from_dst["attrs"].erase("use_dst");
  expect_refused(elu(tensor("f32", {2, 3})), "/inputs/0/stride", {far, 1}, "src.strides");
  expect_refused(elu(tensor("f32", {2, 3})), "/inputs/1/stride", {far, 1}, "diff_dst.strides");
  expect_refused(from_dst, "/inputs/0/stride", {far, 1}, "dst.strides");
  expect_refused(log_softmax(tensor("f32", {2, 3})), "/inputs/0/stride", {far, 1}, "diff_dst.strides");
  expect_refused(log_softmax(tensor("f32", {2, 3})), "/inputs/1/stride", {far, 1}, "dst.strides");
}

TEST_F(GraphTest, TensorsThatNoMemoryHoldsAreRefused) {
  const std::int64_t tera = std::int64_t{1} << 40;
  const std::string file = write_graph(Json::array({elu(tensor("f32", {tera}))}));
  expect_refusal({"graph", file}, "node 'n' (id 7): tensors of (1099511627776,) take about ");
  Json wide = elu(tensor("f32", {2, 3}));
  wide["inputs"][0]["stride"] = {tera, 1};
  expect_refusal({"graph", write_graph(Json::array({wide}))}, "GiB to check, expected at most");
  const std::string overflow = write_graph(Json::array({elu(tensor("f32", {tera, tera}))}));
  expect_refusal({"graph", overflow}, "node 'n' (id 7): ");
}

}  // namespace
}  // namespace gradjit::test
