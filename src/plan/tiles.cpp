#include "src/plan/tiles.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "src/plan/layout.hpp"

namespace gradjit::detail {
namespace {

/// A staged tensor's innermost loop in memory, if that is neither the dense loop nor the axis. A tile takes
/// several steps of it, so that whole cache lines are used.
std::size_t fastest_loop(const Plan& plan, std::size_t tensor) {
  if (!plan.staged[tensor]) {
    return Plan::none;
  }
  if (plan.dense != Plan::none && plan.loops()[plan.dense].stride[tensor] == 0) {
    return Plan::none;  // Broadcast along the tile: no lines to use up.
  }
  const auto length = [tensor](const Dim& dim) {
    return dim.size == 1 || dim.stride[tensor] == 0 ? std::numeric_limits<std::int64_t>::max()
                                                    : std::abs(dim.stride[tensor]);
  };
  std::size_t fastest = Plan::none;
  std::int64_t shortest = length(plan.axis);
  for (std::size_t i = plan.loops().size(); i-- > 0;) {
    if (length(plan.loops()[i]) < shortest) {
      fastest = i;
      shortest = length(plan.loops()[i]);
    }
  }
  return fastest == plan.dense ? Plan::none : fastest;
}

/// A tile in the making: the wanted loops grow evenly, then the others from the inside out.
class Tile {
 public:
  Tile(Plan& plan, std::int64_t target) : plan_(plan), target_(target) {
    std::fill_n(plan.block.begin(), plan.loops().size(), 1);
  }

  void want(std::size_t loop) {
    if (loop != Plan::none) {
      wanted_[loop] = true;
    }
  }

  void take_whole(std::size_t loop) { plan_.block[loop] = plan_.loops()[loop].size; }

  void grow_wanted() {
    for (std::size_t loop = narrowest(); loop != Plan::none; loop = narrowest()) {
      const std::int64_t size = std::min(2 * plan_.block[loop], plan_.loops()[loop].size);
      if (positions(plan_.loops().size()) / plan_.block[loop] * size > target_) {
        return;
      }
      plan_.block[loop] = size;
    }
  }

  /// All but the first `outside` loops.
  void grow_others(std::size_t outside) {
    for (std::size_t i = plan_.loops().size(); i-- > outside;) {
      const std::int64_t others = positions(plan_.loops().size()) / plan_.block[i];
      plan_.block[i] = std::max(plan_.block[i], std::min(plan_.loops()[i].size, target_ / others));
    }
  }

  /// Cuts what has to be cut evenly, at multiples of what copies take at once: small blocks at the end cost
  /// more than their share.
  void even_out() {
    for (std::size_t i = 0; i < plan_.loops().size(); ++i) {
      const std::int64_t size = plan_.loops()[i].size;
      const std::int64_t pieces = (size - 1) / plan_.block[i] + 1;
      const std::int64_t even = (size - 1) / pieces + 1;
      const std::int64_t rounded = (even + cut_tiles - 1) / cut_tiles * cut_tiles;
      plan_.block[i] = rounded <= plan_.block[i] ? rounded : even;
    }
  }

  /// The product of the steps of the first `loops` loops.
  [[nodiscard]] std::int64_t positions(std::size_t loops) const {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < loops; ++i) {
      product *= plan_.block[i];
    }
    return product;
  }

 private:
  /// The wanted loop with the fewest steps in the tile, of those that have more.
  [[nodiscard]] std::size_t narrowest() const {
    std::size_t found = Plan::none;
    for (std::size_t i = plan_.loops().size(); i-- > 0;) {
      const bool can_grow = wanted_[i] && plan_.block[i] < plan_.loops()[i].size;
      if (can_grow && (found == Plan::none || plan_.block[i] < plan_.block[found])) {
        found = i;
      }
    }
    return found;
  }

  Plan& plan_;
  std::int64_t target_;
  std::array<bool, max_rank> wanted_ = {};
};

/// The loops that a tile has several steps of first: the kernel's, and the innermost of each staged tensor.
void want_loops(const Plan& plan, Tile& tile) {
  tile.want(plan.dense != Plan::none ? plan.dense : plan.outer);
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    tile.want(fastest_loop(plan, tensor));
  }
}

/// How many of the loops a kernel cannot take, all but the last ones.
std::size_t loops_outside(const Plan& plan) {
  const bool takes_outer = plan.spec.loop == jit::Loop::elements || plan.spec.loop == jit::Loop::rows;
  const std::size_t taken =
      (plan.dense != Plan::none ? plan.dense - plan.first_dense + 1 : 0) + (takes_outer ? 1 : 0);
  return plan.loops().size() - std::min(taken, plan.loops().size());
}

/// A step of loop `i` goes on, in a tensor, where the loop inside ends.
bool goes_on_in(std::size_t tensor, const DimList& loops, std::size_t i) {
  return goes_on(loops[i].stride[tensor], loops[i + 1].stride[tensor], loops[i + 1].size);
}

bool has_adjacent_runs(const Plan& plan, std::size_t tensor) {
  const DimList& loops = plan.loops();
  const std::size_t last = loops.size() - 1;
  return loops[last].stride[tensor] == plan.element_size && loops[last].size <= longest_whole_run &&
         loops[last].size * plan.axis.size <= greatest_tile / cut_tiles && last > 0 &&
         goes_on_in(tensor, loops, last - 1);
}

bool lie_alike(const DimList& loops, std::size_t a, std::size_t b) {
  return std::all_of(loops.begin(), loops.end(),
                     [a, b](const Dim& loop) { return loop.stride[a] == loop.stride[b]; });
}

/// The dense loop, and those along which it goes on in a tensor, until a run of some vectors is there; but no
/// more than `greatest` positions.
void take_whole_run(const Plan& plan, Tile& tile, std::size_t tensor, std::int64_t greatest) {
  const DimList& loops = plan.loops();
  tile.take_whole(plan.dense);
  std::int64_t run = loops[plan.dense].size;
  for (std::size_t i = plan.dense; i > 0 && run < long_run && goes_on_in(tensor, loops, i - 1); --i) {
    run *= loops[i - 1].size;
    if (run > greatest) {
      return;
    }
    tile.take_whole(i - 1);
  }
}

}  // namespace

void stage_all(Plan& plan) { plan.staged.fill(true); }

std::int64_t least_dense_steps(const Plan& plan) { return plan.axis.size == 1 ? short_run : few_lanes; }

void make_one_tile(Plan& plan) {
  std::transform(plan.loops().begin(), plan.loops().end(), plan.block.begin(),
                 [](const Dim& loop) { return loop.size; });
}

void make_strips(Plan& plan, std::size_t loop, std::int64_t target) {
  Tile tile(plan, target);
  plan.block[loop] = std::min(target, plan.loops()[loop].size);
  tile.even_out();
}

void make_dense_tiles(Plan& plan, std::int64_t target) {
  stage_all(plan);
  Tile tile(plan, target);
  want_loops(plan, tile);
  tile.grow_wanted();
  tile.grow_others(0);
  tile.even_out();
}

bool make_tiles_like(Plan& plan, std::size_t tensor, std::int64_t target) {
  const bool takes_runs = plan.spec.loop == jit::Loop::elements || plan.spec.loop == jit::Loop::columns;
  if (!takes_runs || plan.spec.step != 1 || !has_adjacent_runs(plan, tensor)) {
    return false;
  }
  const DimList& loops = plan.loops();
  plan.dense = plan.first_dense = loops.size() - 1;
  for (std::size_t other = 0; other < tensor_count; ++other) {
    plan.staged[other] = !lie_alike(loops, other, tensor);
  }
  const std::int64_t runs = plan.spec.loop == jit::Loop::columns ? cut_tiles : whole_runs;
  Tile tile(plan, std::max(target, std::min(loops[plan.dense].size * runs, greatest_whole_runs)));
  take_whole_run(plan, tile, tensor, target / least_runs);
  want_loops(plan, tile);
  tile.grow_wanted();
  tile.grow_others(0);
  tile.even_out();
  while (plan.first_dense > 0 && plan.block[plan.first_dense] == loops[plan.first_dense].size &&
         goes_on_in(tensor, loops, plan.first_dense - 1)) {
    --plan.first_dense;
  }
  plan.outer = plan.first_dense > 0 ? plan.first_dense - 1 : Plan::none;
  if (tile.positions(loops_outside(plan)) > 1) {
    stage_all(plan);
  }
  return true;
}

void make_tiles(Plan& plan, std::int64_t target) {
  // The loop of a transposed tensor becomes the kernel's outer loop.
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    const std::size_t fastest = fastest_loop(plan, tensor);
    if (fastest != Plan::none && plan.outer != Plan::none) {
      move_loop(plan.loops(), fastest, plan.outer);
    }
  }
  Tile tile(plan, target);
  want_loops(plan, tile);
  tile.grow_wanted();

  const bool is_short = plan.dense != Plan::none && plan.block[plan.dense] < least_dense_steps(plan) &&
                        plan.block[plan.dense] < target;
  if (is_short || tile.positions(loops_outside(plan)) > 1) {
    stage_all(plan);
  }
  tile.grow_others(plan.stages_all() ? 0 : loops_outside(plan));
  tile.even_out();
}

}  // namespace gradjit::detail
