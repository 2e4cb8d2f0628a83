#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gradjit/types.hpp>

#include "tools/benchmark/peer.h"

namespace gradjit::bench {

/// "onednn", "torch".
[[nodiscard]] const std::vector<std::string>& peer_names();

/// Whether its module lies beside the tool.
[[nodiscard]] bool is_built(const std::string& name);
/// For those who look for one that is not.
[[nodiscard]] std::string how_to_get(const std::string& name);
[[nodiscard]] std::vector<std::string> built_peers();

/// The names in `--peers`. Throws `BadInput` for one that is not known, or not built: that says how to get
/// it.
[[nodiscard]] std::vector<std::string> parse_peers(std::string_view text);

/// Keeps the peers that are loaded from now on to an instruction set. They read this when they start.
void cap_peers(Isa isa);

/// A peer whose module is loaded. It stays loaded: what peers start does not always end.
class Peer {
 public:
  /// Throws `BadInput` when the module, or the library that it needs, cannot be loaded.
  explicit Peer(std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string version() const { return functions_->version; }
  [[nodiscard]] const gradjit_peer& functions() const { return *functions_; }

 private:
  std::string name_;
  const gradjit_peer* functions_;
};

}  // namespace gradjit::bench
