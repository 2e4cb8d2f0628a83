// Which instruction set to use: decisions only, nothing here looks at the hardware.
#include <algorithm>
#include <array>
#include <string>

#include <gradjit/error.hpp>

#include "src/cpu/probe.hpp"
#include "src/process/environment.hpp"

namespace gradjit::detail {
namespace {

struct Requirement {
  bool CpuFeatures::*feature;
  const char* name;
};

// Why `features` and `saved` fall short of an instruction set; empty if they don't. The first requirement
// is the one that tells whether the CPU has such registers at all: where it doesn't, that the system
// doesn't save them is no news.
template <std::size_t count>
std::string shortfall(const CpuFeatures& features, const std::array<Requirement, count>& requirements,
                      bool saved, const char* state) {
  for (const Requirement& requirement : requirements) {
    if (!(features.*requirement.feature)) {
      return std::string("no ") + requirement.name;
    }
    if (!saved) {
      return std::string("the system does not save ") + state + " state";
    }
  }
  return {};
}

constexpr std::array avx2_requirements{
    Requirement{&CpuFeatures::avx, "avx"},
    Requirement{&CpuFeatures::avx2, "avx2"},
    Requirement{&CpuFeatures::fma, "fma"},
    Requirement{&CpuFeatures::f16c, "f16c"},
};

constexpr std::array avx512_requirements{
    Requirement{&CpuFeatures::avx512f, "avx512f"},   Requirement{&CpuFeatures::avx512bw, "avx512bw"},
    Requirement{&CpuFeatures::avx512dq, "avx512dq"}, Requirement{&CpuFeatures::avx512vl, "avx512vl"},
    Requirement{&CpuFeatures::bmi2, "bmi2"},
};

constexpr std::array avx512_bf16_requirements{
    Requirement{&CpuFeatures::avx512_bf16, "avx512_bf16"},
};

}  // namespace

IsaChoice choose_isa(const CpuFeatures& features, std::uint64_t xcr0) {
  const bool saves_avx = (xcr0 & xcr0_avx) == xcr0_avx;
  const bool saves_avx512 = saves_avx && (xcr0 & xcr0_avx512) == xcr0_avx512;
  if (auto reason = shortfall(features, avx2_requirements, saves_avx, "AVX"); !reason.empty()) {
    return {Isa::portable, reason};
  }
  if (auto reason = shortfall(features, avx512_requirements, saves_avx512, "AVX-512"); !reason.empty()) {
    return {Isa::avx2, reason};
  }
  if (auto reason = shortfall(features, avx512_bf16_requirements, saves_avx512, "AVX-512"); !reason.empty()) {
    return {Isa::avx512, reason};
  }
  return {Isa::avx512_bf16, "nothing is missing"};
}

Isa cap_isa(const IsaChoice& choice, std::optional<Isa> max_isa,
            const std::optional<std::string>& environment) {
  Isa isa = choice.isa;
  if (max_isa) {
    if (*max_isa > Isa::avx512_bf16) {
      throw Error(ErrorCode::invalid_argument, "max_isa is " + std::to_string(static_cast<int>(*max_isa)) +
                                                   ", expected portable, avx2, avx512 or avx512_bf16");
    }
    if (*max_isa > choice.isa) {
      throw Error(ErrorCode::unsupported, "max_isa is " + std::string(name_of(*max_isa)) +
                                              ", expected at most " + std::string(name_of(choice.isa)) +
                                              ", the highest that this CPU and system offer (" +
                                              choice.reason + ")");
    }
    isa = *max_isa;
  }
  if (environment) {
    try {
      isa = std::min(isa, parse_isa(*environment));
    } catch (const Error& error) {
      throw Error(error.code(), std::string("GRADJIT_MAX_ISA: ") + error.what());
    }
  }
  return isa;
}

Isa effective_isa(std::optional<Isa> max_isa) {
  return cap_isa(cpu_info().choice, max_isa, environment("GRADJIT_MAX_ISA"));
}

}  // namespace gradjit::detail
