#include "src/cache/compile.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/error.hpp>

#include "tests/support/refusal.hpp"

namespace gradjit::detail {
namespace {

constexpr jit::KernelSpec some_spec{.isa = Isa::avx2, .alpha_bits = 0x3f800000};

// Code that counts its calls in KernelArgs::outer: add qword [rdi + offset], 1; ret.
jit::EmittedKernel emit_counter(const jit::KernelSpec&) {
  constexpr auto offset = static_cast<std::uint8_t>(offsetof(jit::KernelArgs, outer));
  const std::vector<std::uint8_t> bytes{0x48, 0x83, 0x47, offset, 0x01, 0xc3};
  return {bytes, bytes.size(), {}};
}

jit::EmittedKernel emit_nothing(const jit::KernelSpec&) {
  throw Error(ErrorCode::internal, "out of registers");
}

TEST(Compile, MakesGeneratedCodeCallable) {
  const auto kernel = compile_with(emit_counter, some_spec);
  EXPECT_EQ(kernel->spec, some_spec);
  EXPECT_EQ(kernel->name, jit::name_of(some_spec));
  ASSERT_NE(kernel->code, nullptr);
  EXPECT_EQ(kernel->code_bytes(), 6U);
  jit::KernelArgs args;
  (*kernel)(args);
  (*kernel)(args);
  EXPECT_EQ(args.outer, 2);
}

TEST(Compile, GeneratesNothingForThePortablePath) {
  jit::KernelSpec spec = some_spec;
  spec.isa = Isa::portable;
  const auto kernel = compile_with(emit_nothing, spec);
  EXPECT_EQ(kernel->spec, spec);
  EXPECT_EQ(kernel->code, nullptr);
  EXPECT_EQ(kernel->entry, nullptr);
  EXPECT_EQ(kernel->code_bytes(), 0U);
}

TEST(Compile, PassesOnWhatTheEmitterThrows) {
  EXPECT_THROW((void)compile_with(emit_nothing, some_spec), Error);
}

TEST(Compile, FallsBackToPortableCodeWithoutExecutableMemory) {
  const int result = test::run_refused({.executable_pages = true}, [] {
    const auto kernel = compile_with(emit_counter, some_spec);
    return kernel->spec.isa == Isa::portable && kernel->name == jit::name_of(kernel->spec) &&
           kernel->code == nullptr && kernel->entry == nullptr;
  });
  if (result == test::cannot_refuse) {
    GTEST_SKIP() << "no seccomp here";
  }
  EXPECT_EQ(result, 0);
}

// Runs in a process of its own, which reads the environment afresh.
class CompileVerbose : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override { unsetenv("GRADJIT_VERBOSE"); }
};

TEST_F(CompileVerbose, TellsOfEachEmission) {
  setenv("GRADJIT_VERBOSE", "1", 1);
  EXPECT_EXIT(
      {
        (void)compile_with(emit_counter, some_spec);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "gradjit: emitted elu_backward_f32_avx2_.*, 6 bytes, [0-9]+\\.[0-9] us\n");
}

TEST_F(CompileVerbose, TellsOfADenialOnce) {
  setenv("GRADJIT_VERBOSE", "1", 1);
  EXPECT_EXIT(
      {
        if (!test::refuse({.executable_pages = true})) {
          std::fputs("gradjit: portable code is used: no seccomp here\n", stderr);
          std::exit(0);
        }
        (void)compile_with(emit_counter, some_spec);
        (void)compile_with(emit_counter, some_spec);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^[^\n]*gradjit: portable code is used: [^\n]*\n$");
}

TEST_F(CompileVerbose, IsSilentOtherwise) {
  for (const char* const value : {"", "0"}) {
    setenv("GRADJIT_VERBOSE", value, 1);
    EXPECT_EXIT(
        {
          (void)compile_with(emit_counter, some_spec);
          std::exit(0);
        },
        testing::ExitedWithCode(0), "^$");
  }
}

}  // namespace
}  // namespace gradjit::detail
