#include "tools/benchmark/peers.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::bench {
namespace {

std::filesystem::path module_of(std::string_view name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() /
         fmt::format("gradjit_peer_{}.so", name);
}

}  // namespace

const std::vector<std::string>& peer_names() {
  static const std::vector<std::string> names = {"onednn", "torch"};
  return names;
}

bool is_built(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists(module_of(name), ignored);
}

std::string how_to_get(const std::string& name) {
  return fmt::format("{} is not built here; tools/bench --peers {} installs what it needs and builds it",
                     name, name);
}

std::vector<std::string> built_peers() {
  std::vector<std::string> built;
  std::copy_if(peer_names().begin(), peer_names().end(), std::back_inserter(built), is_built);
  return built;
}

std::vector<std::string> parse_peers(std::string_view text) {
  if (text == "none") return {};
  const std::vector<std::string> wanted = tool::split_list("--peers", text);
  for (const std::string& name : wanted) {
    if (std::find(peer_names().begin(), peer_names().end(), name) == peer_names().end()) {
      throw tool::BadInput(fmt::format("--peers: '{}' is no peer; expected none or a list of {}", name,
                                       fmt::join(peer_names(), ", ")));
    }
    if (!is_built(name)) throw tool::BadInput("--peers: " + how_to_get(name));
  }
  std::vector<std::string> names;
  std::copy_if(
      peer_names().begin(), peer_names().end(), std::back_inserter(names),
      [&](const std::string& name) { return std::find(wanted.begin(), wanted.end(), name) != wanted.end(); });
  return names;
}

void cap_peers(Isa isa) {
  // oneDNN, by its present and its former name, and PyTorch; the last entry is no cap.
  constexpr std::array<std::array<const char*, 2>, 3> caps = {
      {{"SSE41", "default"}, {"AVX2", "avx2"}, {"AVX512_CORE", "avx512"}}};
  const auto index = static_cast<std::size_t>(isa);
  if (index >= caps.size()) return;
  ::setenv("ONEDNN_MAX_CPU_ISA", caps[index][0], 1);
  ::setenv("DNNL_MAX_CPU_ISA", caps[index][0], 1);
  ::setenv("ATEN_CPU_CAPABILITY", caps[index][1], 1);
}

Peer::Peer(std::string name) : name_(std::move(name)), functions_(nullptr) {
  const std::string file = module_of(name_).string();
  void* module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) throw tool::BadInput(fmt::format("--peers: {}: {}", name_, ::dlerror()));
  void* symbol = ::dlsym(module, "gradjit_peer_module");
  if (symbol == nullptr) throw tool::BadInput(fmt::format("--peers: {}: {}", name_, ::dlerror()));
  functions_ = reinterpret_cast<decltype(&gradjit_peer_module)>(symbol)();
}

}  // namespace gradjit::bench
