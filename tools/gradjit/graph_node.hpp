#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <gradjit/gradjit.hpp>

#include "tools/gradjit/graph_file.hpp"
#include "tools/gradjit/judge.hpp"

namespace gradjit::tool {

/// A node's run on one factory.
struct NodeRun {
  CheckedRun judged;
  double microseconds = 0;  ///< The median of several calls.
};

/// A node and its runs.
struct CheckedNode {
  GraphNode node;
  double limit = 0;           ///< The greatest error allowed, in units.
  std::size_t unbounded = 0;  ///< Elements that no bound is promised for.
  std::vector<NodeRun> runs;

  [[nodiscard]] bool passes(const NodeRun& run) const { return run.judged.passes(limit); }
};

/// Runs a node of a graph on each factory, on values drawn with `seed`, and judges the results.
[[nodiscard]] CheckedNode check_node(const GraphNode& node, std::uint32_t seed, KernelFactory& portable,
                                     std::span<const std::unique_ptr<KernelFactory>> factories);

}  // namespace gradjit::tool
