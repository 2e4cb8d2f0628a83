#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gradjit/types.hpp>

namespace gradjit::detail {

/// What CPUID says of the features that gradjit's instruction sets are made of, whether or not the system
/// saves the registers that they use.
struct CpuFeatures {
  bool avx = false;
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool bmi2 = false;
  bool avx512f = false;
  bool avx512bw = false;
  bool avx512dq = false;
  bool avx512vl = false;
  bool avx512_bf16 = false;
};

/// The state that the system saves when it switches threads, as XGETBV reports it.
inline constexpr std::uint64_t xcr0_avx = 0x6;      ///< XMM and YMM.
inline constexpr std::uint64_t xcr0_avx512 = 0xe0;  ///< Mask registers, upper halves of ZMM, ZMM16 to 31.

/// The highest instruction set that can be used, and why it is not the next one.
struct IsaChoice {
  Isa isa = Isa::portable;
  std::string reason;  ///< "no avx512bw", "the system does not save AVX-512 state".
};

/// Decides; reads nothing but its arguments. `xcr0` is 0 where the system doesn't offer XGETBV.
[[nodiscard]] IsaChoice choose_isa(const CpuFeatures& features, std::uint64_t xcr0);

/// Where a number about the caches comes from.
enum class CacheSource : std::uint8_t { cpuid, system, assumed };
[[nodiscard]] std::string_view name_of(CacheSource source);

struct CacheLevel {
  std::size_t bytes = 0;
  CacheSource source = CacheSource::assumed;
};

/// The data caches that one core sees. A virtual machine may report an L3 that is not all its own.
struct Caches {
  CacheLevel l1d;
  CacheLevel l2;
  CacheLevel l3;
};

struct CpuInfo {
  std::string vendor;                 ///< "GenuineIntel".
  std::string brand;                  ///< "Intel(R) Xeon(R) Processor".
  std::vector<std::string> features;  ///< All that CPUID reports and the system supports, by name.
  Caches caches;
  IsaChoice choice;
};

/// What this process runs on. Read once.
[[nodiscard]] const CpuInfo& cpu_info();

/// The instruction set to generate code for: the CPU's, `max_isa`, GRADJIT_MAX_ISA, whichever is least.
/// Throws `Error`: invalid_argument for a wrong GRADJIT_MAX_ISA, unsupported for a `max_isa` that the CPU
/// does not have. (The variable is a cap only, so that one setting fits many machines.)
[[nodiscard]] Isa effective_isa(std::optional<Isa> max_isa);

/// `effective_isa` as a function of its arguments; `environment` is GRADJIT_MAX_ISA, if set.
[[nodiscard]] Isa cap_isa(const IsaChoice& choice, std::optional<Isa> max_isa,
                          const std::optional<std::string>& environment);

}  // namespace gradjit::detail
