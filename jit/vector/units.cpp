#include "jit/vector/units.hpp"

#include <numeric>
#include <string>

#include <gradjit/error.hpp>

namespace gradjit::jit {

Pieces pieces_of(int lanes, int step, bool exact) {
  // With pieces `distance` apart, an element's lane is its place modulo that distance. No two are the same
  // if the step and the distance have no common factor. The last element falls to the last of `lanes - 1`
  // apart, which then ends there.
  const int distance = std::gcd(step, lanes - 1) == 1 ? lanes - 1 : lanes;
  if (std::gcd(step, distance) != 1 || (exact && distance == lanes)) {
    throw Error(ErrorCode::internal, "no " + std::to_string(lanes) + " elements in steps of " +
                                         std::to_string(step) + " fit into one vector");
  }
  Pieces result;
  for (int i = 0; i < step; ++i) {
    result.pieces.push_back({i * distance, 0});
  }
  for (int element = 0; element < lanes; ++element) {
    const int place = element * step;
    const int piece = std::min(place / distance, step - 1);
    const int lane = place - piece * distance;
    result.pieces[static_cast<std::size_t>(piece)].lanes |= std::uint64_t{1} << lane;
    result.lane_of.push_back(lane);
  }
  return result;
}

}  // namespace gradjit::jit
