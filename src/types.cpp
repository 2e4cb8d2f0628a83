#include <array>
#include <string>
#include <string_view>

#include <gradjit/error.hpp>
#include <gradjit/types.hpp>

namespace gradjit {
namespace {

template <typename T>
struct Name {
  T value;
  std::string_view text;
};

constexpr std::array data_type_names{
    Name<DataType>{DataType::f32, "f32"},
    Name<DataType>{DataType::bf16, "bf16"},
    Name<DataType>{DataType::f16, "f16"},
};

constexpr std::array isa_names{
    Name<Isa>{Isa::portable, "portable"},
    Name<Isa>{Isa::avx2, "avx2"},
    Name<Isa>{Isa::avx512, "avx512"},
    Name<Isa>{Isa::avx512_bf16, "avx512_bf16"},
};

template <typename Names, typename T>
std::string_view find_name(const Names& names, T value) {
  for (const auto& name : names) {
    if (name.value == value) {
      return name.text;
    }
  }
  return "invalid";
}

template <typename Names>
auto parse(const Names& names, std::string_view what, std::string_view text) {
  std::string valid;
  for (const auto& name : names) {
    if (name.text == text) {
      return name.value;
    }
    valid += valid.empty() ? "" : ", ";
    valid += name.text;
  }
  throw Error(ErrorCode::invalid_argument,
              std::string(what) + " is \"" + std::string(text) + "\", expected one of " + valid);
}

}  // namespace

std::string_view name_of(DataType dtype) { return find_name(data_type_names, dtype); }
std::string_view name_of(Isa isa) { return find_name(isa_names, isa); }

DataType parse_data_type(std::string_view name) { return parse(data_type_names, "data type", name); }
Isa parse_isa(std::string_view name) { return parse(isa_names, "instruction set", name); }

}  // namespace gradjit
