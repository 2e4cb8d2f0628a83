#include "tools/gradjit/graph_file.hpp"

#include <unistd.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <gradjit/error.hpp>

#include "src/plan/request.hpp"
#include "tools/gradjit/command.hpp"
#include "tools/gradjit/json_file.hpp"
#include "tools/gradjit/strided.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

/// What a node takes in memory for each element: its values as they are and in f32, and those of the
/// reference.
constexpr double bytes_per_element = 64;

std::optional<CaseOperation> operation_of(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, CaseOperation>, 4> kinds = {
      {{"EluBackward", CaseOperation::elu_backward},
       {"EluBackprop", CaseOperation::elu_backward},
       {"LogSoftmaxBackward", CaseOperation::log_softmax_backward},
       {"LogSoftmaxBackprop", CaseOperation::log_softmax_backward}}};
  for (const auto& [name, operation] : kinds) {
    if (kind == name) return operation;
  }
  return std::nullopt;
}

/// One logical tensor.
struct LogicalTensor {
  DataType dtype;
  Dims shape;
  Dims strides;
};

/// Takes one node apart.
class NodeReader {
 public:
  /// `json` is called by its place until its name is known.
  NodeReader(std::string file, std::string_view place, const Json& json)
      : file_(std::move(file)), where_(fmt::format("{}: {}", file_, place)), json_(where_, json) {}

  [[nodiscard]] std::string kind() const { return json_.string("kind"); }

  GraphNode read(CaseOperation operation) {
    GraphNode node;
    node.id = shown(json_.value("id"));
    node.request.name = json_.string("name");
    node.request.operation = operation;
    where_ = fmt::format("{}: node '{}' (id {})", file_, node.request.name, node.id);
    json_.rename(where_);
    read_attributes(node.request);
    read_tensors(node);
    check_request(node);
    check_memory(node);
    return node;
  }

 private:
  /// The value of an attribute that is there and of this type.
  [[nodiscard]] JsonObject attribute(const JsonObject& attributes, std::string_view name,
                                     std::string_view type) const {
    JsonObject attribute = attributes.object(name);
    const std::string found = attribute.string("type");
    if (found != type) attribute.fail("type", fmt::format("expected '{}', found '{}'", type, found));
    return attribute;
  }

  void read_attributes(Case& request) const {
    const JsonObject attributes = json_.object("attrs");
    if (request.operation == CaseOperation::log_softmax_backward) {
      request.axis = attributes.has("axis") ? attribute(attributes, "axis", "s64").integer("value") : -1;
      return;
    }
    request.alpha = attribute(attributes, "alpha", "f32").alpha("value");
    if (!attributes.has("use_dst")) return;
    const JsonObject use_dst = attribute(attributes, "use_dst", "bool");
    const Json& value = use_dst.value("value");
    if (value != 0 && value != 1 && !value.is_boolean()) {
      use_dst.fail("value", fmt::format("expected 0, 1, false or true, found {}", shown(value)));
    }
    request.use_dst = value == 1 || value == true;
  }

  /// Sizes or strides.
  static Dims dims_of(const JsonObject& tensor, std::string_view key) {
    Dims dims;
    for (const Json& value : tensor.list(key)) {
      if (!is_integer(value)) {
        tensor.fail(key, fmt::format("expected 64-bit whole numbers, found {}", shown(value)));
      }
      dims.push_back(value.get<std::int64_t>());
      // oneDNN writes -2^63 for what it doesn't know yet.
      if (dims.back() < 0) {
        tensor.fail(key,
                    fmt::format("expected numbers of 0 and more, found {}: it was not known when the graph "
                                "was written",
                                dims.back()));
      }
    }
    return dims;
  }

  static LogicalTensor read_tensor(const JsonObject& tensor) {
    const std::string dtype = tensor.string("dtype");
    if (dtype != "f32" && dtype != "bf16" && dtype != "f16") {
      tensor.fail("dtype", fmt::format("expected f32, bf16 or f16, found '{}'", dtype));
    }
    LogicalTensor result{.dtype = parse_data_type(dtype), .shape = dims_of(tensor, "shape"), .strides = {}};
    const std::string layout = tensor.string("layout_type");
    if (layout == "any" || layout == "undef") return result;  // dense, as good as any
    if (layout != "strided") {
      tensor.fail("layout_type",
                  fmt::format("expected 'strided', 'any' or 'undef', found '{}': where elements lie is known "
                              "to oneDNN only",
                              layout));
    }
    result.strides = dims_of(tensor, "stride");
    if (result.strides.size() != result.shape.size()) {
      tensor.fail("stride", fmt::format("expected as many numbers as the shape {} has, found {}",
                                        format_shape(result.shape), format_shape(result.strides)));
    }
    return result;
  }

  [[nodiscard]] LogicalTensor read_tensor(std::string_view key, std::size_t index,
                                          const LogicalTensor& first) const {
    const JsonObject json = json_.object(key, index);
    LogicalTensor tensor = read_tensor(json);
    if (tensor.dtype != first.dtype) {
      json.fail("dtype", fmt::format("expected that of inputs[0], {}, found {}", name_of(first.dtype),
                                     name_of(tensor.dtype)));
    }
    if (tensor.shape != first.shape) {
      json.fail("shape", fmt::format("expected that of inputs[0], {}, found {}", format_shape(first.shape),
                                     format_shape(tensor.shape)));
    }
    return tensor;
  }

  void check_count(std::string_view key, std::size_t expected) const {
    const std::size_t found = json_.list(key).size();
    if (found != expected) json_.fail(key, fmt::format("expected a list of {}, found {}", expected, found));
  }

  void read_tensors(GraphNode& node) const {
    check_count("inputs", 2);
    check_count("outputs", 1);
    LogicalTensor first = read_tensor(json_.object("inputs", 0));
    LogicalTensor second = read_tensor("inputs", 1, first);
    LogicalTensor output = read_tensor("outputs", 0, first);
    node.dtype = first.dtype;
    node.request.dims = first.shape;
    // The order of oneDNN's operations: src or dst first in the one, diff_dst first in the other.
    const bool is_elu = node.request.operation == CaseOperation::elu_backward;
    node.activation_strides = std::move((is_elu ? first : second).strides);
    node.diff_dst_strides = std::move((is_elu ? second : first).strides);
    node.diff_src_strides = std::move(output.strides);
  }

  /// The checks that making the kernel would make.
  void check_request(const GraphNode& node) const {
    try {
      if (node.request.operation == CaseOperation::elu_backward) {
        (void)detail::validated(node.elu_attributes(), node.elu_tensors());
      } else {
        (void)detail::validated(node.log_softmax_attributes(), node.log_softmax_tensors());
      }
    } catch (const Error& error) {
      throw BadInput(fmt::format("{}: {}", where_, error.what()));
    }
  }

  void check_memory(const GraphNode& node) const {
    const double available =
        static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 2;
    double needed = bytes_per_element * static_cast<double>(elements_of(node.request.dims));
    for (const TensorDesc& desc : {node.activation(), node.diff_dst(), node.diff_src()}) {
      needed +=
          static_cast<double>(span_of(desc)) * static_cast<double>(sizeof(float) + size_of(desc.dtype()));
    }
    if (needed <= available) return;
    constexpr double gibibyte = 0x1p30;
    throw BadInput(
        fmt::format("{}: tensors of {} take about {:.1f} GiB to check, expected at most {:.1f} GiB, half of "
                    "this machine's",
                    where_, format_shape(node.request.dims), needed / gibibyte, available / gibibyte));
  }

  std::string file_;
  std::string where_;
  JsonObject json_;
};

}  // namespace

EluBackward GraphNode::elu_attributes() const {
  return {.alpha = static_cast<float>(request.alpha), .use_dst = request.use_dst};
}

EluBackwardTensors GraphNode::elu_tensors() const {
  EluBackwardTensors tensors{.diff_dst = diff_dst(), .diff_src = diff_src()};
  (request.use_dst ? tensors.dst : tensors.src) = activation();
  return tensors;
}

LogSoftmaxBackwardTensors GraphNode::log_softmax_tensors() const {
  return {.diff_dst = diff_dst(), .dst = activation(), .diff_src = diff_src()};
}

Graph read_graph(const std::filesystem::path& path) {
  Graph graph{.file = path.string(), .nodes = {}, .others = {}};
  const Json json = read_json(path);
  const JsonObject document(graph.file, json);
  const std::string_view key = !document.has("graph") && document.has("nodes") ? "nodes" : "graph";
  const std::size_t count = document.list(key).size();
  if (count == 0) document.fail(key, "expected operations, found none");
  for (std::size_t i = 0; i < count; ++i) {
    NodeReader node(graph.file, fmt::format("{}[{}]", key, i), json.at(key).at(i));
    const std::string kind = node.kind();
    if (const auto operation = operation_of(kind)) {
      graph.nodes.push_back(node.read(*operation));
    } else {
      ++graph.others[kind];
    }
  }
  return graph;
}

}  // namespace gradjit::tool
