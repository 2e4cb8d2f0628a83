#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/benchmark/case.hpp"
#include "tools/benchmark/measure.hpp"
#include "tools/benchmark/peers.hpp"

namespace gradjit::bench {

/// What was measured of one case.
struct Result {
  const Case* source = nullptr;
  Isa isa = Isa::portable;  ///< The highest that the kernels could use.

  /// Something that gradjit is compared with, in nanoseconds per call, and how many times as long it takes.
  struct Rival {
    double ns = 0;
    double speedup = 0;
  };
  double gradjit_ns = 0;
  std::optional<Rival> onednn, torch, roofline, reference;
  std::optional<Rival> plain_multiply;  ///< The roofline, or slower than it.
  double spread = 0;                    ///< Of the repetitions of gradjit_ns, see `relative_spread`.
  int repetitions = 0;
  std::map<std::string, std::string> refusals;  ///< Why a peer that is there has no number.

  /// The value that a target is about; none where it was not measured.
  [[nodiscard]] std::optional<double> value_of(Bound bound) const;
  [[nodiscard]] bool meets(const Target& target) const;
  /// The targets that hold for this result: those of a case that names no instruction set are for AVX-512.
  [[nodiscard]] std::vector<Target> targets() const;
  /// What keeps the case from being faster, as far as the multiplies tell; empty where there are none.
  [[nodiscard]] std::string limited_by() const;
};

/// Measures one case against the peers, the roofline and its reference.
[[nodiscard]] Result measure_case(const Case& source, Isa isa, const std::vector<Peer>& peers,
                                  const Pace& pace);

}  // namespace gradjit::bench
