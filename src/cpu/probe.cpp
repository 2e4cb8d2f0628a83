// Reads the hardware. The one file that includes cpu_features.
#include "src/cpu/probe.hpp"

#include <cpuid.h>

#include <cstdint>
#include <string>

#include <cpuinfo_x86.h>

#include "src/cpu/cache_sizes.hpp"

namespace gradjit::detail {
namespace {

struct CpuidLeaf {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidLeaf read_cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  CpuidLeaf result;
  __get_cpuid_count(leaf, subleaf, &result.eax, &result.ebx, &result.ecx, &result.edx);
  return result;
}

// XGETBV faults unless the system has enabled it, which it says through OSXSAVE.
std::uint64_t read_xcr0() {
  constexpr std::uint32_t osxsave = 1U << 27;
  if ((read_cpuid(1, 0).ecx & osxsave) == 0) {
    return 0;
  }
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

// cpu_features reports no AVX and no AVX-512 where the system doesn't save their state. Its first flag of
// each is read from CPUID itself, so that the probe can say which of the two is missing. Its flags are
// signed one-bit fields: -1 when set.
CpuFeatures plain_features(const cpu_features::X86Features& found) {
  constexpr std::uint32_t avx = 1U << 28;
  constexpr std::uint32_t avx512f = 1U << 16;
  CpuFeatures features;
  features.avx = (read_cpuid(1, 0).ecx & avx) != 0;
  features.avx2 = found.avx2 != 0;
  features.fma = found.fma3 != 0;
  features.f16c = found.f16c != 0;
  features.bmi2 = found.bmi2 != 0;
  features.avx512f = (read_cpuid(7, 0).ebx & avx512f) != 0;
  features.avx512bw = found.avx512bw != 0;
  features.avx512dq = found.avx512dq != 0;
  features.avx512vl = found.avx512vl != 0;
  features.avx512_bf16 = found.avx512_bf16 != 0;
  return features;
}

std::vector<std::string> feature_names(const cpu_features::X86Features& found) {
  std::vector<std::string> names;
  for (int i = 0; i < cpu_features::X86_LAST_; ++i) {
    const auto feature = static_cast<cpu_features::X86FeaturesEnum>(i);
    if (cpu_features::GetX86FeaturesEnumValue(&found, feature) != 0) {
      names.emplace_back(cpu_features::GetX86FeaturesEnumName(feature));
    }
  }
  return names;
}

Caches read_caches() {
  Caches caches;
  const cpu_features::CacheInfo found = cpu_features::GetX86CacheInfo();
  for (int i = 0; i < found.size; ++i) {
    const cpu_features::CacheLevelInfo& level = found.levels[i];
    const bool holds_data = level.cache_type == cpu_features::CPU_FEATURE_CACHE_DATA ||
                            level.cache_type == cpu_features::CPU_FEATURE_CACHE_UNIFIED;
    if (!holds_data || level.level < 1 || level.level > 3 || level.cache_size <= 0) {
      continue;
    }
    CacheLevel& place = level.level == 1 ? caches.l1d : level.level == 2 ? caches.l2 : caches.l3;
    place = {static_cast<std::size_t>(level.cache_size), CacheSource::cpuid};
  }
  complete_caches(caches, "/sys/devices/system/cpu/cpu0/cache");
  return caches;
}

// Brand strings are padded with blanks, on either side.
std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

CpuInfo read_cpu_info() {
  const cpu_features::X86Info found = cpu_features::GetX86Info();
  CpuInfo info;
  info.vendor = found.vendor;
  info.brand = trimmed(found.brand_string);
  info.features = feature_names(found.features);
  info.caches = read_caches();
  info.choice = choose_isa(plain_features(found.features), read_xcr0());
  return info;
}

}  // namespace

std::string_view name_of(CacheSource source) {
  switch (source) {
    case CacheSource::cpuid:
      return "cpuid";
    case CacheSource::system:
      return "system";
    case CacheSource::assumed:
      return "assumed";
  }
  return "invalid";
}

const CpuInfo& cpu_info() {
  // Never destroyed: threads may still ask while the process exits.
  static const CpuInfo& info = *new CpuInfo(read_cpu_info());
  return info;
}

}  // namespace gradjit::detail
