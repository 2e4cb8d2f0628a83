#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gradjit/gradjit.hpp>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/factory.hpp"
#include "tools/gradjit/graph_file.hpp"
#include "tools/gradjit/graph_node.hpp"
#include "tools/gradjit/graph_report.hpp"
#include "tools/gradjit/output.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string isa;
  std::uint32_t seed = 1;
  bool json = false;
};

/// Those that --isa names, or the one that the library chooses.
std::vector<std::unique_ptr<KernelFactory>> factories_of(const Options& options) {
  if (!options.isa.empty()) return make_factories(options.isa, {}).usable;
  std::vector<std::unique_ptr<KernelFactory>> factories;
  factories.push_back(make_factory(std::nullopt));
  return factories;
}

int run_graph(const Options& options) {
  const std::vector<std::unique_ptr<KernelFactory>> factories = factories_of(options);
  const std::unique_ptr<KernelFactory> portable = make_factory(Isa::portable);
  // All of them are read first: what is damaged shows before work is done.
  std::vector<Graph> graphs;
  for (const std::string& file : options.files) graphs.push_back(read_graph(file));
  GraphReport report{.seed = options.seed, .graphs = {}};
  for (Graph& graph : graphs) {
    CheckedGraph checked{.file = graph.file, .nodes = {}, .others = std::move(graph.others)};
    for (const GraphNode& node : graph.nodes) {
      checked.nodes.push_back(check_node(node, options.seed, *portable, factories));
    }
    report.graphs.push_back(std::move(checked));
  }
  print(options.json ? format_json(report) : format_table(report));
  return report.failures() == 0 ? status_good : status_check_failed;
}

}  // namespace

void add_graph(CLI::App& app, Action& action) {
  CLI::App& graph = *app.add_subcommand("graph", "Runs the two operations found in oneDNN Graph dumps");
  const auto options = std::make_shared<Options>();
  graph.add_option("FILE.json", options->files, "What oneDNN wrote with ONEDNN_GRAPH_DUMP=graph or subgraph")
      ->required();
  graph
      .add_option("--isa", options->isa,
                  "Of portable, avx2, avx512, avx512_bf16: a list with commas; the best here when left out")
      ->check(not_empty);
  graph.add_option("--seed", options->seed, "For the values, which are drawn at random")
      ->capture_default_str();
  graph.add_flag("--json", options->json, "Print one JSON document");
  graph.callback([&action, options] { action = [options] { return run_graph(*options); }; });
}

}  // namespace gradjit::tool
