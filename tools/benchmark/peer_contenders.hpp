#pragma once

#include <memory>
#include <string>

#include "tools/benchmark/case.hpp"
#include "tools/benchmark/contender.hpp"
#include "tools/benchmark/peers.hpp"
#include "tools/benchmark/tensors.hpp"

namespace gradjit::bench {

/// A peer at a case, or none, and `refusal` says why. Cases that ask a factory for what it holds are none of
/// a peer's.
[[nodiscard]] std::unique_ptr<Contender> make_peer_contender(const Case& source, const Peer& peer,
                                                             const std::shared_ptr<const Tensors>& tensors,
                                                             std::string& refusal);

}  // namespace gradjit::bench
