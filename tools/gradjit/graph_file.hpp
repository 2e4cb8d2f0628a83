#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gradjit/operations.hpp>

#include "tools/gradjit/cases.hpp"

namespace gradjit::tool {

/// An EluBackward or LogSoftmaxBackward of a graph.
struct GraphNode {
  std::string id;  ///< As the file writes it.
  Case request;    ///< Its name, attributes and dims; without values.
  DataType dtype = DataType::f32;
  /// As in `TensorDesc`.
  Dims activation_strides;
  Dims diff_dst_strides;
  Dims diff_src_strides;

  /// What to ask the library for.
  [[nodiscard]] EluBackward elu_attributes() const;
  [[nodiscard]] EluBackwardTensors elu_tensors() const;
  [[nodiscard]] LogSoftmaxBackward log_softmax_attributes() const { return {.axis = request.axis}; }
  [[nodiscard]] LogSoftmaxBackwardTensors log_softmax_tensors() const;

  [[nodiscard]] TensorDesc activation() const { return {dtype, request.dims, activation_strides}; }
  [[nodiscard]] TensorDesc diff_dst() const { return {dtype, request.dims, diff_dst_strides}; }
  [[nodiscard]] TensorDesc diff_src() const { return {dtype, request.dims, diff_src_strides}; }
};

struct Graph {
  std::string file;
  std::vector<GraphNode> nodes;
  std::map<std::string, std::size_t> others;  ///< Operations of other kinds, counted.
};

/// Reads what oneDNN writes when ONEDNN_GRAPH_DUMP is graph or subgraph: an object whose "graph" ("nodes" in
/// some) lists operations with "id", "name", "kind", "attrs", "inputs" and "outputs". An attribute is an
/// object of "type" and "value", a boolean is 0 or 1; a tensor has "dtype", "shape", "stride" and
/// "layout_type", and a shape or stride that isn't known is [-2^63]. Before oneDNN 3.0 the kinds ended in
/// Backprop.
///
/// Throws `BadInput` that names the file, the node and the key, also for what the library would refuse.
[[nodiscard]] Graph read_graph(const std::filesystem::path& path);

}  // namespace gradjit::tool
