#include "src/plan/choose_tiles.hpp"

#include <algorithm>
#include <cstdlib>

#include "src/plan/layout.hpp"
#include "src/plan/tile_layout.hpp"
#include "src/plan/tiles.hpp"

namespace gradjit::detail {
namespace {

using jit::Loop;

/// What parts of the work take, in nanoseconds on a Xeon with AVX-512 (Sapphire Rapids): fitted, then
/// rounded, to 27,133 timings of the tiles that there were for 8,508 requests, of tensors in 2 to 5
/// dimensions that lie in one another's orders or have steps of 2 to 8. The tiles chosen by them take 1.3 %
/// longer than the fastest in the mean; 285 of the requests take more than is wanted (3 times what dense
/// tensors take, 10 times with steps over 4), and 219 would with the fastest.
namespace cost {
constexpr double tile = 60;
constexpr double kernel_run = 1.5;
constexpr double kernel_vector = 2.5;   ///< Sixteen elements.
constexpr double partial_vector = 3.5;  ///< The same at the end of a run of EluBackward, besides.
constexpr double staged_byte = 0.02;    ///< Of a copy of any kind, besides what follows.
constexpr double plane = 8.5;           ///< Of a transposing kernel.
constexpr double square_of_4_bytes = 2;
constexpr double square_of_2_bytes = 6;
constexpr double line = 1.5;             ///< Of strided elements, or runs.
constexpr double strided_4_bytes = 0.8;  ///< Sixteen elements, for each step between them.
constexpr double strided_2_bytes = 0.55;
constexpr double short_runs = 1.7;  ///< As many as move at once.
// By plain code:
constexpr double long_run = 1.2;
constexpr double long_run_byte = 0.0075;
constexpr double transposed_plane = 50;
constexpr double transposed_unit = 0.45;
constexpr double plain_line = 3;
constexpr double plain_unit = 0.4;
}  // namespace cost

constexpr std::int64_t vector_elements = 16;

double count(std::int64_t steps) { return static_cast<double>(steps); }

double pieces(std::int64_t size, std::int64_t piece) { return count((size - 1) / piece + 1); }

double cost_of_kernel(const CopyCall& call, const jit::KernelSpec& spec) {
  const auto size = static_cast<std::int64_t>(size_of(spec.dtype));
  if (spec.loop == Loop::transpose || spec.loop == Loop::transpose_by_places) {
    const std::int64_t side = 16 / size;
    const double squares = pieces(call.line.size, side) * pieces(call.rows.size, side);
    return cost::plane + squares * (size == 4 ? cost::square_of_4_bytes : cost::square_of_2_bytes);
  }
  if (spec.loop == Loop::runs) {
    const int at_once = jit::runs_at_once(spec.isa, size, spec.run);
    return cost::line + pieces(call.line.size, at_once) * cost::short_runs;
  }
  const double vectors = pieces(call.line.size, vector_elements);
  return cost::line + vectors * spec.step * (size == 4 ? cost::strided_4_bytes : cost::strided_2_bytes);
}

/// The same without a kernel, of `units` times `bytes` that lie side by side.
double cost_of_plain_code(CopyNest& nest, double units, std::int64_t bytes, TileSide tile) {
  if (bytes > 16) {
    return units * (cost::long_run + count(bytes) * cost::long_run_byte);
  }
  const CopyPlane plane = take_plane(nest, bytes, tile);
  return plane.is_transposed
             ? count(nest.steps()) * cost::transposed_plane + units * cost::transposed_unit
             : count(nest.steps() * plane.lines.size) * cost::plain_line + units * cost::plain_unit;
}

/// Of the copy of a staged tensor, to its tile or from there.
double cost_of_copy(const Plan& plan, const TileLayout& tiles, std::size_t tensor) {
  const TileSide tile = tile_side_of(tensor);
  TileLayout::Loops room;
  const std::span<const CopyLoop> loops = tiles.copy_loops(room, tensor);
  CopyNest nest(loops);
  const std::int64_t bytes = nest.take_run(plan.element_size);
  const double units = count(nest.steps());
  const double memory = units * count(bytes) * cost::staged_byte;
  if (const auto spec = copy_spec_of(loops, plan.element_size, tile, plan.spec.isa)) {
    const CopyCall call = *take_call(nest, bytes, *spec);
    return memory + count(nest.steps() * call.outer.size) * cost_of_kernel(call, *spec);
  }
  return memory + cost_of_plain_code(nest, units, bytes, tile);
}

/// Adjacent positions that a kernel takes at once.
std::int64_t run_of(const Plan& plan, const TileLayout& tiles) {
  if (plan.stages_all()) {
    return tiles.positions();
  }
  std::int64_t run = 1;
  for (std::size_t i = plan.first_dense; plan.dense != Plan::none && i <= plan.dense; ++i) {
    run *= plan.block[i];
  }
  return run;
}

double cost_of(const Plan& plan) {
  const TileLayout tiles(plan, plan.block, plan.axis.size);
  const std::int64_t run = run_of(plan, tiles);
  const std::int64_t runs = tiles.positions() / run;
  const bool has_rows = plan.spec.loop == Loop::rows || plan.spec.loop == Loop::packed_rows;
  const double vectors = has_rows ? count(run) * pieces(plan.axis.size, vector_elements)
                                  : pieces(run, vector_elements) * count(plan.axis.size);
  const bool has_partial = plan.spec.loop == Loop::elements && run % vector_elements != 0;
  double cost = cost::tile + count(runs) * (cost::kernel_run + vectors * cost::kernel_vector +
                                            (has_partial ? cost::partial_vector : 0));
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    cost += plan.staged[tensor] ? cost_of_copy(plan, tiles, tensor) : 0;
  }
  for (std::size_t i = 0; i < plan.loops().size(); ++i) {
    cost *= count(plan.loops()[i].size) / count(plan.block[i]);
  }
  return cost;
}

/// The longest loop, and those that are innermost in a tensor, where there are too many to try all.
bool is_worth_being_last(const DimList& loops, std::size_t loop) {
  constexpr std::size_t few = 4;
  const auto is_least = [&](const auto& measure) {
    return std::ranges::all_of(loops,
                               [&](const Dim& other) { return measure(loops[loop]) <= measure(other); });
  };
  const auto is_innermost = [&](std::size_t tensor) {
    return is_least([tensor](const Dim& dim) { return std::abs(dim.stride[tensor]); });
  };
  return loops.size() <= few || is_least([](const Dim& dim) { return -dim.size; }) ||
         is_innermost(activation) || is_innermost(diff_dst) || is_innermost(diff_src);
}

}  // namespace

void choose_tiles(Plan& plan, std::int64_t target) {
  const Plan untiled = plan;
  make_tiles(plan, target);
  if (plan.is_segmented()) {
    return;
  }
  double least = cost_of(plan);
  const auto consider = [&](const Plan& other) {
    if (const double cost = cost_of(other); cost < least) {
      plan = other;
      least = cost;
    }
  };
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    Plan ordered = untiled;
    order_by(ordered.loops(), tensor);
    if (Plan like = ordered; make_tiles_like(like, tensor, target)) {
      consider(like);
    }
    for (std::size_t last = 0; last < ordered.loops().size(); ++last) {
      if (!is_worth_being_last(ordered.loops(), last)) {
        continue;
      }
      Plan dense = ordered;
      move_loop(dense.loops(), last, dense.loops().size() - 1);
      make_dense_tiles(dense, target);
      consider(dense);
    }
  }
}

}  // namespace gradjit::detail
