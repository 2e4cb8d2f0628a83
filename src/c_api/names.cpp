// The parts of gradjit.h without handles: errors, version, names.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "src/c_api/guard.hpp"
#include "src/c_api/handles.hpp"

namespace gradjit::detail {
namespace {

// Plain memory: it has to work when there is none left, and in destructors of other thread-local objects.
thread_local char last_error[1024];

// The library's names are literals, and so end with a zero.
const char* text_of(std::string_view literal) { return literal.data(); }

bool is_isa(gradjit_isa isa) { return isa >= GRADJIT_PORTABLE && isa <= GRADJIT_AVX512_BF16; }
bool is_data_type(gradjit_data_type dtype) { return dtype >= GRADJIT_F32 && dtype <= GRADJIT_F16; }

}  // namespace

void set_last_error(const char* message) noexcept {
  const std::size_t length = std::min(std::strlen(message), sizeof last_error - 1);
  std::memcpy(last_error, message, length);
  last_error[length] = '\0';
}

gradjit_status status_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return GRADJIT_INVALID_ARGUMENT;
    case ErrorCode::unsupported:
      return GRADJIT_UNSUPPORTED;
    case ErrorCode::out_of_memory:
      return GRADJIT_OUT_OF_MEMORY;
    case ErrorCode::code_memory_denied:
      return GRADJIT_CODE_MEMORY_DENIED;
    case ErrorCode::internal:
      break;
  }
  return GRADJIT_INTERNAL;
}

Isa to_isa(gradjit_isa isa, const char* name) {
  static_assert(to_c(Isa::portable) == GRADJIT_PORTABLE && to_c(Isa::avx2) == GRADJIT_AVX2 &&
                to_c(Isa::avx512) == GRADJIT_AVX512 && to_c(Isa::avx512_bf16) == GRADJIT_AVX512_BF16);
  if (!is_isa(isa)) {
    refuse(name, " is ", isa, ", expected portable, avx2, avx512 or avx512_bf16");
  }
  return static_cast<Isa>(isa);
}

DataType to_data_type(gradjit_data_type dtype, const char* name) {
  static_assert(to_c(DataType::f32) == GRADJIT_F32 && to_c(DataType::bf16) == GRADJIT_BF16 &&
                to_c(DataType::f16) == GRADJIT_F16);
  if (!is_data_type(dtype)) {
    refuse(name, " is ", dtype, ", expected f32, bf16 or f16");
  }
  return static_cast<DataType>(dtype);
}

}  // namespace gradjit::detail

using namespace gradjit::detail;

const char* gradjit_version(void) { return gradjit::version; }

const char* gradjit_last_error(void) { return last_error; }

const char* gradjit_status_name(gradjit_status status) {
  switch (status) {
    case GRADJIT_SUCCESS:
      return "success";
    case GRADJIT_INVALID_ARGUMENT:
      return "invalid_argument";
    case GRADJIT_UNSUPPORTED:
      return "unsupported";
    case GRADJIT_OUT_OF_MEMORY:
      return "out_of_memory";
    case GRADJIT_CODE_MEMORY_DENIED:
      return "code_memory_denied";
    case GRADJIT_INTERNAL:
      return "internal";
    default:
      return "invalid";
  }
}

const char* gradjit_data_type_name(gradjit_data_type dtype) {
  return is_data_type(dtype) ? text_of(gradjit::name_of(static_cast<gradjit::DataType>(dtype))) : "invalid";
}

const char* gradjit_isa_name(gradjit_isa isa) {
  return is_isa(isa) ? text_of(gradjit::name_of(static_cast<gradjit::Isa>(isa))) : "invalid";
}

gradjit_status gradjit_parse_data_type(const char* name, gradjit_data_type* dtype) {
  return guarded([&] {
    gradjit_data_type& result = required_output(dtype, "dtype");
    result = to_c(gradjit::parse_data_type(&required(name, "name", "the name of a data type")));
  });
}

gradjit_status gradjit_parse_isa(const char* name, gradjit_isa* isa) {
  return guarded([&] {
    gradjit_isa& result = required_output(isa, "isa");
    result = to_c(gradjit::parse_isa(&required(name, "name", "the name of an instruction set")));
  });
}
