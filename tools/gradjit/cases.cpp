#include "tools/gradjit/cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/elements.hpp"
#include "tools/gradjit/file.hpp"
#include "tools/gradjit/npy.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

using Json = nlohmann::json;

/// Takes one case apart. Every complaint says which case of which file, and which key.
class CaseReader {
 public:
  CaseReader(const std::filesystem::path& file, std::size_t position, const Json& json)
      : file_(file), case_(fmt::format("case {}", position)), json_(json) {}

  Case read() {
    if (!json_.is_object()) fail("is no object");
    Case result;
    result.name = string_of("name");
    case_ = fmt::format("case '{}'", result.name);
    result.operation = operation();
    if (result.operation == CaseOperation::elu_backward) {
      result.alpha = alpha();
      result.use_dst = bool_of("use_dst");
    } else {
      result.axis = integer_of("axis");
      result.use_dst = true;
    }
    read_tensors(result);
    check_axis(result);
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw BadInput(fmt::format("{}: {} {}", file_.string(), case_, what));
  }

  [[noreturn]] void fail(std::string_view key, std::string_view what) const {
    throw BadInput(fmt::format("{}: {}: key '{}': {}", file_.string(), case_, key, what));
  }

  [[nodiscard]] const Json& value_of(std::string_view key) const {
    const auto entry = json_.find(key);
    if (entry == json_.end()) fail(key, "is missing");
    return *entry;
  }

  [[nodiscard]] std::string string_of(std::string_view key) const {
    const Json& value = value_of(key);
    if (!value.is_string()) fail(key, fmt::format("expected a string, found {}", shown(value)));
    return value.get<std::string>();
  }

  [[nodiscard]] bool bool_of(std::string_view key) const {
    const Json& value = value_of(key);
    if (!value.is_boolean()) fail(key, fmt::format("expected true or false, found {}", shown(value)));
    return value.get<bool>();
  }

  [[nodiscard]] std::int64_t integer_of(std::string_view key) const {
    const Json& value = value_of(key);
    const bool fits =
        value.is_number_integer() &&
        (!value.is_number_unsigned() ||
         value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!fits) fail(key, fmt::format("expected a 64-bit whole number, found {}", shown(value)));
    return value.get<std::int64_t>();
  }

  [[nodiscard]] CaseOperation operation() const {
    const std::string name = string_of("op");
    for (const auto operation : {CaseOperation::elu_backward, CaseOperation::log_softmax_backward}) {
      if (name == name_of(operation)) return operation;
    }
    fail("op", fmt::format("expected elu_backward or log_softmax_backward, found '{}'", name));
  }

  /// JSON has no infinity, so that one is a string.
  [[nodiscard]] double alpha() const {
    const Json& value = value_of("alpha");
    if (value == "inf") return std::numeric_limits<double>::infinity();
    if (!value.is_number()) {
      fail("alpha", fmt::format("expected a number or \"inf\", found {}", shown(value)));
    }
    const auto alpha = value.get<double>();
    if (std::isinf(static_cast<float>(alpha))) {
      fail("alpha", fmt::format("{} is beyond the range of f32", shown(value)));
    }
    if (alpha < 0) fail("alpha", fmt::format("expected at least 0, found {}", shown(value)));
    return alpha;
  }

  static std::string shown(const Json& value) {
    constexpr std::size_t limit = 40;
    const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() <= limit ? text : text.substr(0, limit) + "...";
  }

  [[nodiscard]] NpyArray array_of(std::string_view key) const {
    const std::string name = string_of(key);
    if (name.empty()) fail(key, "the file name is empty");
    NpyArray array;
    try {
      array = read_npy(file_.parent_path() / name);
    } catch (const BadInput& error) {
      fail(key, error.what());
    }
    if (array.fortran_order) fail(key, fmt::format("{} is in Fortran order, expected C order", name));
    return array;
  }

  [[nodiscard]] std::vector<float> input(std::string_view key, const NpyArray& array) const {
    if (array.type == NpyType::f8) fail(key, "expected elements of type '<f4' or '<f2', found '<f8'");
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
      fail("expected", fmt::format("expected elements of type '<f8', found '{}'", name_of(expected.type)));
    }
    result.expected = doubles_of(expected);
  }

  void check_shape(std::string_view key, const NpyArray& array, const Dims& dims) const {
    if (array.shape == dims) return;
    fail(key,
         fmt::format("shape {} differs from diff_dst's {}", format_shape(array.shape), format_shape(dims)));
  }

  void check_axis(const Case& result) const {
    if (result.dims.size() > max_rank) {
      fail("diff_dst", fmt::format("rank {} is above {}", result.dims.size(), max_rank));
    }
    if (result.operation != CaseOperation::log_softmax_backward) return;
    const auto rank = std::max<std::int64_t>(1, static_cast<std::int64_t>(result.dims.size()));
    if (result.axis >= -rank && result.axis < rank) return;
    fail("axis", fmt::format("{} is outside [{}, {}]", result.axis, -rank, rank - 1));
  }

  const std::filesystem::path& file_;
  std::string case_;
  const Json& json_;
};

Json parse_json(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw BadInput(fmt::format("{}: not JSON: {}", path.string(), error.what()));
  }
}

}  // namespace

std::string_view name_of(CaseOperation operation) {
  return operation == CaseOperation::elu_backward ? "elu_backward" : "log_softmax_backward";
}

std::vector<Case> read_cases(const std::filesystem::path& path) {
  const Json json = parse_json(path);
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
