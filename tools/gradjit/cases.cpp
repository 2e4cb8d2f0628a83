#include "tools/gradjit/cases.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/elements.hpp"
#include "tools/gradjit/json_file.hpp"
#include "tools/gradjit/npy.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

/// Takes one case apart. Every complaint says which case of which file, and which key.
class CaseReader {
 public:
  CaseReader(const std::filesystem::path& file, std::size_t position, const Json& json)
      : file_(file), json_(fmt::format("{}: case {}", file.string(), position), json) {}

  Case read() {
    Case result;
    result.name = json_.string("name");
    json_.rename(fmt::format("{}: case '{}'", file_.string(), result.name));
    result.operation = operation();
    if (result.operation == CaseOperation::elu_backward) {
      result.alpha = json_.alpha("alpha");
      result.use_dst = json_.boolean("use_dst");
    } else {
      result.axis = json_.integer("axis");
      result.use_dst = true;
    }
    read_tensors(result);
    check_axis(result);
    return result;
  }

 private:
  [[nodiscard]] CaseOperation operation() const {
    const std::string name = json_.string("op");
    for (const auto operation : {CaseOperation::elu_backward, CaseOperation::log_softmax_backward}) {
      if (name == name_of(operation)) return operation;
    }
    json_.fail("op", fmt::format("expected elu_backward or log_softmax_backward, found '{}'", name));
  }

  [[nodiscard]] NpyArray array_of(std::string_view key) const {
    const std::string name = json_.string(key);
    if (name.empty()) json_.fail(key, "the file name is empty");
    NpyArray array;
    try {
      array = read_npy(file_.parent_path() / name);
    } catch (const BadInput& error) {
      json_.fail(key, error.what());
    }
    if (array.fortran_order) json_.fail(key, fmt::format("{} is in Fortran order, expected C order", name));
    return array;
  }

  [[nodiscard]] std::vector<float> input(std::string_view key, const NpyArray& array) const {
    if (array.type == NpyType::f8) json_.fail(key, "expected elements of type '<f4' or '<f2', found '<f8'");
    return floats_of(array);
  }

  void read_tensors(Case& result) const {
    const std::string_view activation_key = result.use_dst ? "dst" : "src";
    const NpyArray activation = array_of(activation_key);
    const NpyArray diff_dst = array_of("diff_dst");
    const NpyArray expected = array_of("expected");
    result.dims = diff_dst.shape;
    check_shape(activation_key, activation, result.dims);
    check_shape("expected", expected, result.dims);
    result.activation = input(activation_key, activation);
    result.diff_dst = input("diff_dst", diff_dst);
    if (expected.type != NpyType::f8) {
      json_.fail("expected",
                 fmt::format("expected elements of type '<f8', found '{}'", name_of(expected.type)));
    }
    result.expected = doubles_of(expected);
  }

  void check_shape(std::string_view key, const NpyArray& array, const Dims& dims) const {
    if (array.shape == dims) return;
    json_.fail(key, fmt::format("shape {} differs from diff_dst's {}", format_shape(array.shape),
                                format_shape(dims)));
  }

  void check_axis(const Case& result) const {
    if (result.dims.size() > max_rank) {
      json_.fail("diff_dst", fmt::format("rank {} is above {}", result.dims.size(), max_rank));
    }
    if (result.operation != CaseOperation::log_softmax_backward) return;
    const auto rank = std::max<std::int64_t>(1, static_cast<std::int64_t>(result.dims.size()));
    if (result.axis >= -rank && result.axis < rank) return;
    json_.fail("axis", fmt::format("{} is outside [{}, {}]", result.axis, -rank, rank - 1));
  }

  const std::filesystem::path& file_;
  JsonObject json_;
};

}  // namespace

std::string_view name_of(CaseOperation operation) {
  return operation == CaseOperation::elu_backward ? "elu_backward" : "log_softmax_backward";
}

std::vector<Case> read_cases(const std::filesystem::path& path) {
  const Json json = read_json(path);
  if (!json.is_array()) throw BadInput(fmt::format("{}: expected a list of cases", path.string()));
  std::vector<Case> cases;
  std::set<std::string> names;
  for (const Json& entry : json) {
    cases.push_back(CaseReader(path, cases.size() + 1, entry).read());
    const std::string& name = cases.back().name;
    if (!names.insert(name).second) {
      throw BadInput(fmt::format("{}: case '{}': key 'name': is used twice", path.string(), name));
    }
  }
  if (cases.empty()) throw BadInput(fmt::format("{}: the list of cases is empty", path.string()));
  return cases;
}

}  // namespace gradjit::tool
