#include "tools/gradjit/graph_report.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <gradjit/version.hpp>

#include "tools/gradjit/run_report.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

using Json = nlohmann::ordered_json;

/// The cells of a line of the table.
using Row = std::array<std::string, 10>;

std::string describe_node(const GraphNode& node) {
  return fmt::format("{} ({})", one_line(node.request.name), node.id);
}

std::string attribute_of(const Case& request) {
  if (request.operation == CaseOperation::log_softmax_backward) return fmt::format("axis {}", request.axis);
  return fmt::format("alpha {:g}, {}", request.alpha, request.use_dst ? "dst" : "src");
}

Row row_of(const CheckedGraph& graph, const CheckedNode& checked, const NodeRun& run) {
  const Case& request = checked.node.request;
  return {one_line(graph.file),
          describe_node(checked.node),
          std::string(name_of(request.operation)),
          std::string(name_of(checked.node.dtype)),
          format_shape(request.dims),
          attribute_of(request),
          std::string(name_of(run.judged.isa)),
          fmt::format("{:.3f}", run.judged.error / checked.limit),
          run.judged.has_same_bits() ? "same" : "DIFFER",
          fmt::format("{:.2f} us{}", run.microseconds, checked.passes(run) ? "" : "  FAILED")};
}

std::string format_rows(const GraphReport& report) {
  std::vector<Row> rows = {
      {"file", "node", "op", "dtype", "shape", "attribute", "isa", "of bound", "bits", "time"}};
  for (const CheckedGraph& graph : report.graphs) {
    for (const CheckedNode& node : graph.nodes) {
      for (const NodeRun& run : node.runs) rows.push_back(row_of(graph, node, run));
    }
  }
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size() + 2);
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += fmt::format("{:<{}}", row[i], widths[i]);
    text += "\n";
  }
  return text;
}

std::string format_others(const CheckedGraph& graph) {
  if (graph.others.empty()) return "";
  std::string kinds;
  for (const auto& [kind, count] : graph.others) {
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, one_line(kind));
  }
  return fmt::format("not run: {}: {}\n", one_line(graph.file), kinds);
}

std::string format_failures(const CheckedGraph& graph, const CheckedNode& checked) {
  const Case& request = checked.node.request;
  std::string text;
  for (const NodeRun& run : checked.runs) {
    const std::string what = fmt::format("{} {} {} {}", one_line(graph.file), describe_node(checked.node),
                                         name_of(checked.node.dtype), name_of(run.judged.isa));
    text += describe_failures(what, run.judged, checked.limit, request.operation, request.dims);
  }
  return text;
}

Json json_of(const CheckedNode& checked) {
  const GraphNode& node = checked.node;
  const Case& request = node.request;
  Json json = {{"name", request.name}, {"id", node.id}, {"op", name_of(request.operation)}};
  if (request.operation == CaseOperation::elu_backward) {
    json["alpha"] = json_number(request.alpha);
    json["use_dst"] = request.use_dst;
  } else {
    json["axis"] = request.axis;
  }
  json["dtype"] = name_of(node.dtype);
  json["shape"] = request.dims;
  json["unit"] = unit_of(request.operation);
  json["allowed"] = checked.limit;
  json["elements_without_bound"] = checked.unbounded;
  json["runs"] = Json::array();
  for (const NodeRun& run : checked.runs) {
    Json entry = json_of(run.judged, checked.limit, request.dims);
    entry["of_bound"] = json_number(run.judged.error / checked.limit);
    entry["microseconds"] = run.microseconds;
    json["runs"].push_back(std::move(entry));
  }
  return json;
}

/// The sum of `count` over all nodes.
template <typename Count>
std::size_t sum(const GraphReport& report, Count count) {
  std::size_t total = 0;
  for (const CheckedGraph& graph : report.graphs) {
    for (const CheckedNode& node : graph.nodes) total += count(node);
  }
  return total;
}

}  // namespace

std::size_t GraphReport::nodes() const {
  return sum(*this, [](const CheckedNode&) { return 1U; });
}

std::size_t GraphReport::runs() const {
  return sum(*this, [](const CheckedNode& node) { return node.runs.size(); });
}

std::size_t GraphReport::failures() const {
  return sum(*this, [](const CheckedNode& node) {
    return static_cast<std::size_t>(std::count_if(node.runs.begin(), node.runs.end(),
                                                  [&](const NodeRun& run) { return !node.passes(run); }));
  });
}

std::size_t GraphReport::others() const {
  std::size_t total = 0;
  for (const CheckedGraph& graph : graphs) {
    for (const auto& [kind, count] : graph.others) total += count;
  }
  return total;
}

std::size_t GraphReport::unbounded() const {
  return sum(*this, [](const CheckedNode& node) { return node.unbounded; });
}

std::string format_table(const GraphReport& report) {
  std::string text = report.runs() == 0 ? "" : format_rows(report);
  for (const CheckedGraph& graph : report.graphs) {
    for (const CheckedNode& node : graph.nodes) text += format_failures(graph, node);
  }
  for (const CheckedGraph& graph : report.graphs) text += format_others(graph);
  text += describe_unbounded(report.unbounded());
  return text +
         fmt::format("{} files, {} nodes in {} runs, {} other operations not run, seed {}: {}\n",
                     report.graphs.size(), report.nodes(), report.runs(), report.others(), report.seed,
                     report.failures() == 0 ? "all good" : fmt::format("{} runs FAILED", report.failures()));
}

std::string format_json(const GraphReport& report) {
  Json files = Json::array();
  for (const CheckedGraph& graph : report.graphs) {
    Json nodes = Json::array();
    for (const CheckedNode& node : graph.nodes) nodes.push_back(json_of(node));
    files.push_back({{"file", graph.file}, {"nodes", std::move(nodes)}, {"not_run", graph.others}});
  }
  return text_of({{"gradjit", version},
                  {"passed", report.failures() == 0},
                  {"seed", report.seed},
                  {"nodes", report.nodes()},
                  {"runs", report.runs()},
                  {"failed", report.failures()},
                  {"not_run", report.others()},
                  {"files", std::move(files)}});
}

}  // namespace gradjit::tool
