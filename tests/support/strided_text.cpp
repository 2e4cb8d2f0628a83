// Strided cases as text: key=value, one after the other.

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ios>
#include <map>
#include <sstream>
#include <stdexcept>

#include "tests/support/strided_case.hpp"

namespace gradjit::test {
namespace {

template <typename List>
std::string joined(const List& list) {
  std::ostringstream text;
  bool first = true;
  for (const auto item : list) {
    text << (first ? "" : ",") << item;
    first = false;
  }
  return text.str();
}

/// In hexadecimal, what repeats as VALUE*COUNT.
std::string text_of_values(const std::vector<std::uint32_t>& values) {
  std::ostringstream text;
  for (auto at = values.begin(); at != values.end();) {
    const auto end = std::find_if(at, values.end(), [at](std::uint32_t value) { return value != *at; });
    text << (at == values.begin() ? "" : ",") << std::hex << *at << std::dec;
    if (end - at > 1) {
      text << "*" << end - at;
    }
    at = end;
  }
  return text.str();
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

template <typename Number>
Number number_from(const std::string& text, int base = 10) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc{} || stopped != end) {
    throw std::runtime_error("'" + text + "' is no number that fits");
  }
  return number;
}

std::vector<std::uint32_t> values_from(const std::string& text) {
  std::vector<std::uint32_t> values;
  for (const std::string& item : split(text, ',')) {
    const auto parts = split(item, '*');
    const auto count = parts.size() == 2 ? number_from<std::size_t>(parts[1]) : 1;
    values.insert(values.end(), count, number_from<std::uint32_t>(parts.at(0), 16));
  }
  return values;
}

/// The values of the keys, each taken once.
class Fields {
 public:
  explicit Fields(const std::string& text) {
    for (const std::string& field : split(text, ' ')) {
      const std::size_t sign = field.find('=');
      if (sign == std::string::npos) {
        throw std::runtime_error("'" + field + "' is not KEY=VALUE");
      }
      fields_[field.substr(0, sign)] = field.substr(sign + 1);
    }
  }

  [[nodiscard]] const std::string& text(const std::string& key) const {
    const auto found = fields_.find(key);
    if (found == fields_.end()) {
      throw std::runtime_error("the case has no " + key);
    }
    return found->second;
  }
  template <typename Number>
  [[nodiscard]] Number number(const std::string& key) const {
    return number_from<Number>(text(key));
  }
  template <typename Number>
  [[nodiscard]] std::vector<Number> list(const std::string& key) const {
    std::vector<Number> numbers;
    for (const std::string& item : split(text(key), ',')) {
      numbers.push_back(number_from<Number>(item));
    }
    return numbers;
  }

 private:
  std::map<std::string, std::string> fields_;
};

Sharing sharing_from(const std::string& text) {
  const auto found = std::find(sharing_names.begin(), sharing_names.end(), text);
  if (found == sharing_names.end()) {
    throw std::runtime_error("'" + text + "' is no way to share memory");
  }
  return static_cast<Sharing>(found - sharing_names.begin());
}

/// What would make `difference` read outside of its lists or memory.
void check_sizes(const StridedCase& c) {
  for (const Dims& strides : c.strides) {
    if (strides.size() != c.dims.size()) {
      throw std::runtime_error("dims and strides differ in length");
    }
  }
  if (std::ranges::any_of(c.dims, [](std::int64_t size) { return size < 0; })) {
    throw std::runtime_error("a dim is negative");
  }
  if (c.dims.size() > max_rank || axis_of(c) >= std::max<std::size_t>(c.dims.size(), 1)) {
    throw std::runtime_error("there are too many dims, or axis is none of them");
  }
  for (const auto& values : c.values) {
    if (!values.empty() && std::ssize(values) != elements_of(c)) {
      throw std::runtime_error("there are more or fewer values than elements");
    }
  }
}

}  // namespace

std::string text_of(const StridedCase& c) {
  std::ostringstream text;
  text << "op=" << (c.is_elu ? "elu_backward" : "log_softmax_backward") << " dtype=" << name_of(c.dtype)
       << " dims=" << joined(c.dims) << " activation_strides=" << joined(c.strides[0])
       << " diff_dst_strides=" << joined(c.strides[1]) << " diff_src_strides=" << joined(c.strides[2])
       << " axis=" << c.axis << " alpha=" << std::hexfloat << c.alpha << std::defaultfloat
       << " use_dst=" << c.use_dst << " sharing=" << sharing_names[static_cast<std::size_t>(c.sharing)]
       << " distance=" << c.distance << " misalignment=" << joined(c.misalignment) << " seed=" << c.seed
       << " special_one_in=" << c.special_one_in << " isa=" << name_of(c.isa) << " threads=" << c.threads
       << " has_tiny_caches=" << c.has_tiny_caches << " activation=" << text_of_values(c.values[0])
       << " diff_dst=" << text_of_values(c.values[1]);
  return text.str();
}

StridedCase case_from(const std::string& text) {
  const Fields fields(text);
  StridedCase c;
  c.is_elu = fields.text("op") == "elu_backward";
  c.dtype = parse_data_type(fields.text("dtype"));
  c.dims = fields.list<std::int64_t>("dims");
  c.strides = {fields.list<std::int64_t>("activation_strides"), fields.list<std::int64_t>("diff_dst_strides"),
               fields.list<std::int64_t>("diff_src_strides")};
  c.axis = fields.number<std::int64_t>("axis");
  c.alpha = std::strtof(fields.text("alpha").c_str(), nullptr);
  c.use_dst = fields.number<int>("use_dst") != 0;
  c.sharing = sharing_from(fields.text("sharing"));
  c.distance = fields.number<std::int64_t>("distance");
  const auto misalignment = fields.list<std::size_t>("misalignment");
  c.misalignment = {misalignment.at(0), misalignment.at(1), misalignment.at(2)};
  c.seed = fields.number<std::uint32_t>("seed");
  c.special_one_in = fields.number<int>("special_one_in");
  c.isa = parse_isa(fields.text("isa"));
  c.threads = fields.number<int>("threads");
  c.has_tiny_caches = fields.number<int>("has_tiny_caches") != 0;
  c.values = {values_from(fields.text("activation")), values_from(fields.text("diff_dst"))};
  check_sizes(c);
  share_strides(c);
  return c;
}

}  // namespace gradjit::test
