#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/gradjit/factory.hpp"
#include "tools/gradjit/graph_node.hpp"

namespace gradjit::tool {

/// One file's nodes, checked, and what else it holds.
struct CheckedGraph {
  std::string file;
  std::vector<CheckedNode> nodes;
  std::map<std::string, std::size_t> others;
};

struct GraphReport {
  std::uint32_t seed = 0;
  std::vector<CheckedGraph> graphs;

  [[nodiscard]] std::size_t nodes() const;
  [[nodiscard]] std::size_t runs() const;
  [[nodiscard]] std::size_t failures() const;
  [[nodiscard]] std::size_t others() const;
  [[nodiscard]] std::size_t unbounded() const;
};

/// A table with a line per node and instruction set, every failure in full, the operations that were not run,
/// and a summary.
[[nodiscard]] std::string format_table(const GraphReport& report);
/// One document with all that is known about each run.
[[nodiscard]] std::string format_json(const GraphReport& report);

}  // namespace gradjit::tool
