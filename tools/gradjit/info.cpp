#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <Zydis/Zydis.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xbyak/xbyak.h>

#include <gradjit/gradjit.hpp>

#include "src/cpu/probe.hpp"
#include "src/process/environment.hpp"
#include "tools/gradjit/command.hpp"
#include "tools/gradjit/factory.hpp"
#include "tools/gradjit/output.hpp"
#include "tools/gradjit/run_report.hpp"

namespace gradjit::tool {
namespace {

using Json = nlohmann::ordered_json;
using Versions = std::vector<std::pair<std::string, std::string>>;

std::string compiler_version() {
#ifdef __clang__
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

Versions read_versions() {
  constexpr int xbyak = Xbyak::VERSION;  // 0xABCD is A.BC(.D), in decimal digits
  const ZyanU64 zydis = ZydisGetVersion();
  return {{"gradjit", version},
          {"Xbyak", fmt::format("{:x}.{:02x}", xbyak >> 12, xbyak >> 4 & 0xff)},
#ifdef GRADJIT_CPU_FEATURES_VERSION
          {"cpu_features", GRADJIT_CPU_FEATURES_VERSION},
#endif
          {"Zydis", fmt::format("{}.{}.{}", ZYDIS_VERSION_MAJOR(zydis), ZYDIS_VERSION_MINOR(zydis),
                                ZYDIS_VERSION_PATCH(zydis))},
          {"compiler", compiler_version()}};
}

struct Info {
  const detail::CpuInfo& cpu;
  Isa isa;
  std::string reason;
  bool code_memory;
  int threads;
  Versions versions;
};

std::string reason_for(Isa isa, const detail::IsaChoice& choice) {
  if (isa == choice.isa) return fmt::format("the highest here: {}", choice.reason);
  return fmt::format("GRADJIT_MAX_ISA={}; the highest here is {}: {}",
                     detail::environment("GRADJIT_MAX_ISA").value_or(""), name_of(choice.isa), choice.reason);
}

Info read_info() {
  const detail::CpuInfo& cpu = detail::cpu_info();
  KernelFactory factory;
  return {.cpu = cpu,
          .isa = factory.isa(),
          .reason = reason_for(factory.isa(), cpu.choice),
          .code_memory = grants_code_memory(factory),
          .threads = openmp_executor().concurrency(),
          .versions = read_versions()};
}

std::array<std::pair<std::string_view, detail::CacheLevel>, 3> caches_of(const detail::CpuInfo& cpu) {
  return {{{"L1d", cpu.caches.l1d}, {"L2", cpu.caches.l2}, {"L3", cpu.caches.l3}}};
}

/// Words with spaces between them, in lines of at most 100 characters, all but the first indented.
std::string wrap(const std::vector<std::string>& words, std::size_t indentation) {
  std::string text;
  std::size_t column = indentation;
  for (const std::string& word : words) {
    if (column + word.size() > 100) {
      text += "\n" + std::string(indentation, ' ');
      column = indentation;
    }
    text += (column == indentation ? "" : " ") + word;
    column += word.size() + 1;
  }
  return text;
}

std::string format_text(const Info& info) {
  constexpr std::size_t indentation = 13;
  std::string text;
  const auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("{:<{}}{}\n", name, indentation, value);
  };
  line("CPU", fmt::format("{} ({})", info.cpu.brand, info.cpu.vendor));
  line("features", wrap(info.cpu.features, indentation));
  line("isa", fmt::format("{} ({})", name_of(info.isa), info.reason));
  line("code memory", info.code_memory ? "granted" : "denied: the portable path is used");
  line("threads", fmt::format("{}", info.threads));
  for (const auto& [name, level] : caches_of(info.cpu)) {
    line(name, fmt::format("{} KiB ({})", level.bytes / 1024, name_of(level.source)));
  }
  for (const auto& [name, number] : info.versions) line(name, number);
  return text;
}

std::string format_json(const Info& info) {
  Json caches;
  for (const auto& [name, level] : caches_of(info.cpu)) {
    caches[std::string(name)] = {{"bytes", level.bytes}, {"source", name_of(level.source)}};
  }
  Json versions;
  for (const auto& [name, number] : info.versions) versions[name] = number;
  const Json document = {{"cpu", {{"vendor", info.cpu.vendor}, {"brand", info.cpu.brand}}},
                         {"features", info.cpu.features},
                         {"isa", name_of(info.isa)},
                         {"reason", info.reason},
                         {"code_memory", info.code_memory},
                         {"threads", info.threads},
                         {"caches", std::move(caches)},
                         {"versions", std::move(versions)}};
  return text_of(document);
}

int run_info(bool json) {
  const Info info = read_info();
  print(json ? format_json(info) : format_text(info));
  return status_good;
}

}  // namespace

void add_info(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("info", "Shows the CPU, the isa that is chosen and why, and versions");
  const auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "Print one JSON document");
  command.callback([&action, json] { action = [json] { return run_info(*json); }; });
}

}  // namespace gradjit::tool
