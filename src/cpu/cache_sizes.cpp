#include "src/cpu/cache_sizes.hpp"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <string>
#include <system_error>

namespace gradjit::detail {
namespace {

// Usual sizes, where neither the CPU nor the system tells: 32 KiB, 1 MiB, 8 MiB.
constexpr std::size_t assumed_l1d = 32UL << 10;
constexpr std::size_t assumed_l2 = 1UL << 20;
constexpr std::size_t assumed_l3 = 8UL << 20;

std::string read_word(const std::filesystem::path& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

void set_if_unknown(CacheLevel& level, std::size_t bytes, CacheSource source) {
  if (level.bytes == 0 && bytes != 0) {
    level = {bytes, source};
  }
}

void ask_sysfs(Caches& caches, const std::filesystem::path& directory) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string type = read_word(entry.path() / "type");
    if (type != "Data" && type != "Unified") {
      continue;
    }
    const std::string level = read_word(entry.path() / "level");
    const std::size_t bytes = parse_cache_size(read_word(entry.path() / "size"));
    if (level == "1") {
      set_if_unknown(caches.l1d, bytes, CacheSource::system);
    } else if (level == "2") {
      set_if_unknown(caches.l2, bytes, CacheSource::system);
    } else if (level == "3") {
      set_if_unknown(caches.l3, bytes, CacheSource::system);
    }
  }
}

void ask_sysconf_for(CacheLevel& level, int name) {
  const long bytes = sysconf(name);
  set_if_unknown(level, bytes > 0 ? static_cast<std::size_t>(bytes) : 0, CacheSource::system);
}

}  // namespace

std::size_t parse_cache_size(std::string_view text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) {
    return 0;
  }
  const std::string_view suffix(unit, static_cast<std::size_t>(end - unit));
  const unsigned shift = suffix.empty() ? 0 : suffix == "K" ? 10 : suffix == "M" ? 20 : 64;
  return shift == 64 || number > (~std::size_t{0} >> shift) ? 0 : number << shift;
}

void complete_caches(Caches& caches, const std::filesystem::path& directory, bool ask_sysconf) {
  ask_sysfs(caches, directory);
  if (ask_sysconf) {
    ask_sysconf_for(caches.l1d, _SC_LEVEL1_DCACHE_SIZE);
    ask_sysconf_for(caches.l2, _SC_LEVEL2_CACHE_SIZE);
    ask_sysconf_for(caches.l3, _SC_LEVEL3_CACHE_SIZE);
  }
  set_if_unknown(caches.l1d, assumed_l1d, CacheSource::assumed);
  set_if_unknown(caches.l2, assumed_l2, CacheSource::assumed);
  set_if_unknown(caches.l3, assumed_l3, CacheSource::assumed);
}

}  // namespace gradjit::detail
