#include <algorithm>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include <gradjit/error.hpp>

#include "src/cpu/cache_sizes.hpp"
#include "src/cpu/probe.hpp"
#include "tests/support/temporary_directory.hpp"

namespace gradjit::detail {
namespace {

constexpr std::uint64_t saves_all = xcr0_avx | xcr0_avx512 | 1;

constexpr CpuFeatures all_features{.avx = true,
                                   .avx2 = true,
                                   .fma = true,
                                   .f16c = true,
                                   .bmi2 = true,
                                   .avx512f = true,
                                   .avx512bw = true,
                                   .avx512dq = true,
                                   .avx512vl = true,
                                   .avx512_bf16 = true};

CpuFeatures all_but(bool CpuFeatures::*missing) {
  CpuFeatures features = all_features;
  features.*missing = false;
  return features;
}

struct Case {
  const char* name;
  CpuFeatures features;
  std::uint64_t xcr0;
  Isa isa;
  const char* reason;
};

std::ostream& operator<<(std::ostream& stream, const Case& c) { return stream << c.name; }

class ChooseIsa : public testing::TestWithParam<Case> {};

TEST_P(ChooseIsa, FollowsFeaturesAndSavedState) {
  const Case& c = GetParam();
  const IsaChoice choice = choose_isa(c.features, c.xcr0);
  EXPECT_EQ(choice.isa, c.isa) << name_of(choice.isa);
  EXPECT_EQ(choice.reason, c.reason);
}

constexpr const char* no_avx_state = "the system does not save AVX state";
constexpr const char* no_avx512_state = "the system does not save AVX-512 state";

INSTANTIATE_TEST_SUITE_P(
    Table, ChooseIsa,
    testing::Values(Case{"everything", all_features, saves_all, Isa::avx512_bf16, "nothing is missing"},
                    Case{"nothing", {}, 0, Isa::portable, "no avx"},
                    Case{"nothing_but_state", {}, saves_all, Isa::portable, "no avx"},
                    Case{"no_avx", all_but(&CpuFeatures::avx), saves_all, Isa::portable, "no avx"},
                    Case{"no_avx2", all_but(&CpuFeatures::avx2), saves_all, Isa::portable, "no avx2"},
                    Case{"no_fma", all_but(&CpuFeatures::fma), saves_all, Isa::portable, "no fma"},
                    Case{"no_f16c", all_but(&CpuFeatures::f16c), saves_all, Isa::portable, "no f16c"},
                    Case{"no_avx512f", all_but(&CpuFeatures::avx512f), saves_all, Isa::avx2, "no avx512f"},
                    Case{"no_avx512bw", all_but(&CpuFeatures::avx512bw), saves_all, Isa::avx2, "no avx512bw"},
                    Case{"no_avx512dq", all_but(&CpuFeatures::avx512dq), saves_all, Isa::avx2, "no avx512dq"},
                    Case{"no_avx512vl", all_but(&CpuFeatures::avx512vl), saves_all, Isa::avx2, "no avx512vl"},
                    Case{"no_bmi2", all_but(&CpuFeatures::bmi2), saves_all, Isa::avx2, "no bmi2"},
                    Case{"no_avx512_bf16", all_but(&CpuFeatures::avx512_bf16), saves_all, Isa::avx512,
                         "no avx512_bf16"},
                    Case{"no_xgetbv", all_features, 0, Isa::portable, no_avx_state},
                    Case{"only_xmm", all_features, 0x3, Isa::portable, no_avx_state},
                    // The upper halves of YMM without XMM: no system does that, but both bits are required.
                    Case{"no_xmm", all_features, 0x4, Isa::portable, no_avx_state},
                    Case{"zmm_without_ymm", all_features, xcr0_avx512, Isa::portable, no_avx_state},
                    Case{"no_zmm", all_features, xcr0_avx, Isa::avx2, no_avx512_state},
                    Case{"no_mask_registers", all_features, saves_all & ~0x20ULL, Isa::avx2, no_avx512_state},
                    Case{"no_upper_zmm", all_features, saves_all & ~0x40ULL, Isa::avx2, no_avx512_state},
                    Case{"no_zmm16_to_31", all_features, saves_all & ~0x80ULL, Isa::avx2, no_avx512_state},
                    // A CPU without AVX-512 doesn't save its state either; what counts is the CPU.
                    Case{"haswell",
                         {.avx = true, .avx2 = true, .fma = true, .f16c = true},
                         xcr0_avx,
                         Isa::avx2,
                         "no avx512f"},
                    Case{"more_state", all_features, ~0ULL, Isa::avx512_bf16, "nothing is missing"}),
    [](const auto& parameters) { return std::string(parameters.param.name); });

ErrorCode code_of(const IsaChoice& choice, std::optional<Isa> max_isa,
                  const std::optional<std::string>& environment, std::string& message) {
  try {
    (void)cap_isa(choice, max_isa, environment);
  } catch (const Error& error) {
    message = error.what();
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::internal;
}

TEST(CapIsa, IsTheLeastOfAll) {
  const IsaChoice cpu{Isa::avx512, "no avx512_bf16"};
  EXPECT_EQ(cap_isa(cpu, std::nullopt, std::nullopt), Isa::avx512);
  EXPECT_EQ(cap_isa(cpu, Isa::avx512, std::nullopt), Isa::avx512);
  EXPECT_EQ(cap_isa(cpu, Isa::avx2, std::nullopt), Isa::avx2);
  EXPECT_EQ(cap_isa(cpu, std::nullopt, "avx2"), Isa::avx2);
  EXPECT_EQ(cap_isa(cpu, Isa::portable, "avx2"), Isa::portable);
  EXPECT_EQ(cap_isa(cpu, Isa::avx2, "portable"), Isa::portable);
  EXPECT_EQ(cap_isa(cpu, std::nullopt, "avx512_bf16"), Isa::avx512) << "the variable is only a cap";
}

TEST(CapIsa, RefusesWhatTheCpuDoesNotHave) {
  std::string message;
  EXPECT_EQ(code_of({Isa::avx2, "no avx512f"}, Isa::avx512, std::nullopt, message), ErrorCode::unsupported);
  EXPECT_EQ(message,
            "max_isa is avx512, expected at most avx2, the highest that this CPU and system offer "
            "(no avx512f)");
}

TEST(CapIsa, RefusesAWrongName) {
  std::string message;
  EXPECT_EQ(code_of({Isa::avx2, ""}, std::nullopt, "avx1024", message), ErrorCode::invalid_argument);
  EXPECT_EQ(message,
            "GRADJIT_MAX_ISA: instruction set is \"avx1024\", expected one of portable, avx2, avx512, "
            "avx512_bf16");
}

// Sets a variable, and puts it back as it was.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) {
      before_ = before;
    }
    setenv(name, value, 1);
  }
  ~ScopedVariable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(EffectiveIsa, ReadsTheEnvironmentEachTime) {
  {
    const ScopedVariable variable("GRADJIT_MAX_ISA", "portable");
    EXPECT_EQ(effective_isa(std::nullopt), Isa::portable);
  }
  {
    const ScopedVariable variable("GRADJIT_MAX_ISA", "fastest");
    EXPECT_THROW((void)effective_isa(std::nullopt), Error);
  }
  {
    const ScopedVariable variable("GRADJIT_MAX_ISA", "");
    EXPECT_EQ(effective_isa(std::nullopt), cpu_info().choice.isa) << "empty is as good as unset";
  }
}

TEST(CpuInfo, DescribesThisMachine) {
  const CpuInfo& info = cpu_info();
  EXPECT_EQ(&info, &cpu_info());
  EXPECT_FALSE(info.vendor.empty());
  EXPECT_FALSE(info.choice.reason.empty());
  EXPECT_NE(std::find(info.features.begin(), info.features.end(), "sse2"), info.features.end());
  for (const CacheLevel& level : {info.caches.l1d, info.caches.l2, info.caches.l3}) {
    EXPECT_GE(level.bytes, std::size_t{4096});
  }
  EXPECT_LE(info.caches.l1d.bytes, info.caches.l2.bytes);
  // The compiler's own idea of what the CPU has.
  __builtin_cpu_init();
  EXPECT_EQ(info.choice.isa >= Isa::avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(info.choice.isa >= Isa::avx512,
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
}

TEST(CacheSizes, AreParsedAsSysfsWritesThem) {
  EXPECT_EQ(parse_cache_size("48K"), 48U << 10);
  EXPECT_EQ(parse_cache_size("266240K"), 266240UL << 10);
  EXPECT_EQ(parse_cache_size("2M"), 2U << 20);
  EXPECT_EQ(parse_cache_size("512"), 512U);
  for (const char* const text : {"", "K", "-1K", "12Q", "4KB", "18446744073709551615K"}) {
    EXPECT_EQ(parse_cache_size(text), 0U) << text;
  }
}

void write_cache(const test::TemporaryDirectory& directory, const std::string& index, const char* level,
                 const char* type, const char* size) {
  directory.write(index + "/level", level + std::string("\n"));
  directory.write(index + "/type", type + std::string("\n"));
  directory.write(index + "/size", size + std::string("\n"));
}

TEST(CacheSizes, ComeFromCpuidThenTheSystemThenAssumptions) {
  const test::TemporaryDirectory directory;
  write_cache(directory, "index0", "1", "Instruction", "64K");
  write_cache(directory, "index1", "1", "Data", "48K");
  write_cache(directory, "index2", "2", "Unified", "2048K");
  write_cache(directory, "index3", "3", "Unified", "nonsense");

  Caches caches;
  caches.l2 = {1U << 19, CacheSource::cpuid};
  complete_caches(caches, directory.path(), false);
  EXPECT_EQ(caches.l1d.bytes, 48U << 10);
  EXPECT_EQ(caches.l1d.source, CacheSource::system);
  EXPECT_EQ(caches.l2.bytes, 1U << 19) << "what is known stays";
  EXPECT_EQ(caches.l2.source, CacheSource::cpuid);
  EXPECT_EQ(caches.l3.bytes, 8U << 20);
  EXPECT_EQ(caches.l3.source, CacheSource::assumed);

  Caches unknown;
  complete_caches(unknown, directory.path() / "absent", false);
  EXPECT_EQ(unknown.l1d.bytes, 32U << 10);
  EXPECT_EQ(unknown.l2.bytes, 1U << 20);
  EXPECT_EQ(unknown.l1d.source, CacheSource::assumed);
  EXPECT_EQ(name_of(unknown.l1d.source), "assumed");
}

}  // namespace
}  // namespace gradjit::detail
