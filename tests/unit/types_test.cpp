#include <string>

#include <gtest/gtest.h>

#include <gradjit/error.hpp>
#include <gradjit/types.hpp>

namespace gradjit {
namespace {

TEST(Types, NamesAndTheirInverse) {
  EXPECT_EQ(name_of(DataType::f32), "f32");
  EXPECT_EQ(name_of(DataType::bf16), "bf16");
  EXPECT_EQ(name_of(DataType::f16), "f16");
  for (const auto dtype : {DataType::f32, DataType::bf16, DataType::f16}) {
    EXPECT_EQ(parse_data_type(name_of(dtype)), dtype);
  }
  EXPECT_EQ(name_of(Isa::portable), "portable");
  EXPECT_EQ(name_of(Isa::avx2), "avx2");
  EXPECT_EQ(name_of(Isa::avx512), "avx512");
  EXPECT_EQ(name_of(Isa::avx512_bf16), "avx512_bf16");
  for (const auto isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_bf16}) {
    EXPECT_EQ(parse_isa(name_of(isa)), isa);
  }
}

template <typename Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Types, WrongNamesAreErrorsThatListTheValidOnes) {
  EXPECT_EQ(error_of([] { return parse_isa("avx3"); }),
            "instruction set is \"avx3\", expected one of portable, avx2, avx512, avx512_bf16");
  EXPECT_EQ(error_of([] { return parse_data_type("f64"); }),
            "data type is \"f64\", expected one of f32, bf16, f16");
  for (const char* const name : {"", "AVX2", "avx2 ", "avx", "avx512_bf16x"}) {
    EXPECT_THROW((void)parse_isa(name), Error) << name;
  }
}

}  // namespace
}  // namespace gradjit
