#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gradjit/types.hpp>

#include "tools/benchmark/peer.h"

namespace gradjit::bench {

/// "onednn", "torch".
[[nodiscard]] const std::vector<std::string>& peer_names();

/// Those of them whose module lies beside the tool.
[[nodiscard]] std::vector<std::string> peers_that_are_built();

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
