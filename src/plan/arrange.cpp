#include "src/plan/arrange.hpp"

#include <algorithm>

#include "src/plan/choose_tiles.hpp"
#include "src/plan/choose_update.hpp"
#include "src/plan/layout.hpp"
#include "src/plan/split.hpp"
#include "src/plan/tiles.hpp"

namespace gradjit::detail {
namespace {

using jit::Loop;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

bool is_cut(const Plan& plan, std::size_t loop) { return plan.block[loop] < plan.loops()[loop].size; }

// The form that a kernel wants a tensor to have.

/// How far elements that are next to one another lie apart.
std::int64_t element_stride(const Plan& plan) { return plan.spec.step * plan.element_size; }

/// How far steps of the dense loop lie apart: elements, or packed rows.
std::int64_t dense_stride(const Plan& plan) {
  return (plan.spec.loop == Loop::packed_rows ? plan.axis.size : 1) * element_stride(plan);
}

/// The elements of a row are adjacent, where that is wanted.
bool axis_fits(const Plan& plan, std::size_t tensor) {
  return plan.spec.loop == Loop::elements || plan.spec.loop == Loop::columns ||
         plan.spec.loop == Loop::few_columns || plan.axis.size == 1 ||
         plan.axis.stride[tensor] == element_stride(plan);
}

int tensors_that_fit(const Plan& plan, const Dim& dim) {
  int count = 0;
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    count += axis_fits(plan, tensor) && dim.stride[tensor] == dense_stride(plan) ? 1 : 0;
  }
  return count;
}

/// Puts the loop last along which most tensors are adjacent; the innermost in memory if several are.
void move_dense_loop_last(Plan& plan) {
  const std::size_t last = plan.loops().size() - 1;
  std::size_t best = last;
  int most = tensors_that_fit(plan, plan.loops()[last]);
  for (std::size_t i = last; i-- > 0;) {
    const int count = tensors_that_fit(plan, plan.loops()[i]);
    if (count > most) {
      best = i;
      most = count;
    }
  }
  move_loop(plan.loops(), best, last);
}

/// The dense loop is the last, the outer loop the one before it.
void set_roles(Plan& plan) {
  const std::size_t count = plan.loops().size();
  const bool takes_one_loop = plan.spec.loop == Loop::rows || plan.spec.loop == Loop::few_columns;
  const bool has_dense = !takes_one_loop && count > 0;
  const bool has_outer = plan.spec.loop != Loop::packed_rows && count > (has_dense ? 1 : 0);
  plan.dense = has_dense ? count - 1 : Plan::none;
  plan.first_dense = plan.dense;
  plan.outer = has_outer ? count - (has_dense ? 2 : 1) : Plan::none;
}

/// Runs, or columns, that are too few to pass to a kernel where they lie.
bool has_short_runs(const Plan& plan) {
  return plan.loops().size() > 1 && plan.dense != Plan::none &&
         plan.loops()[plan.dense].size < least_dense_steps(plan);
}

std::size_t longest_loop(const Plan& plan) {
  std::size_t longest = plan.loops().size() - 1;
  for (std::size_t i = longest; i-- > 0;) {
    longest = plan.loops()[i].size > plan.loops()[longest].size ? i : longest;
  }
  return longest;
}

/// Where the elements of all tensors lie equally far apart, a kernel may be there for just that.
void choose_step(Plan& plan) {
  const bool is_packed = plan.spec.loop == Loop::packed_rows;
  const bool has_rows = plan.spec.loop == Loop::rows || (is_packed && plan.axis.size > 1);
  if ((!has_rows && plan.dense == Plan::none) || has_short_runs(plan)) {
    return;
  }
  const Dim& inner = has_rows ? plan.axis : plan.loops()[plan.dense];
  const std::int64_t stride = inner.stride[diff_src];
  const std::int64_t step = stride / plan.element_size;
  // Packed rows lie as far apart as their elements.
  const bool rows_go_on = !is_packed || plan.dense == Plan::none || plan.axis.size == 1 ||
                          goes_on(plan.loops()[plan.dense], plan.axis);
  if (steps_are(inner, stride) && rows_go_on && jit::takes_step(plan.spec, step)) {
    plan.spec.step = static_cast<std::uint8_t>(step);
  }
}

/// Stages the tensors that don't have the form.
void stage_misfits(Plan& plan) {
  for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
    const bool is_dense =
        plan.dense == Plan::none || plan.loops()[plan.dense].stride[tensor] == dense_stride(plan);
    plan.staged[tensor] = !is_dense || !axis_fits(plan, tensor);
  }
}

/// A tile can hold enough columns of their whole length.
bool columns_fit_a_tile(const Plan& plan) {
  const std::int64_t columns = std::min(plan.elements / plan.axis.size, least_tile_columns);
  return plan.axis.size <= greatest_tile / columns;
}

void set_few_columns(Plan& plan, std::int64_t columns) {
  plan.spec.loop = Loop::few_columns;
  plan.spec.columns = static_cast<std::uint8_t>(columns);
  plan.spec.axis_rest = static_cast<std::uint32_t>(plan.axis.size % jit::few_columns_modulus);
}

/// Where there are few columns in all, one tile has them, for the kernel that takes just so many; unless
/// there is little to gain, with columns that lie as the kernel for many wants them.
bool stages_few_columns(Plan& plan) {
  const std::int64_t length = plan.axis.size;
  const std::int64_t columns = plan.elements / length;
  if (plan.spec.loop != Loop::columns || columns > jit::few_columns_limit(plan.spec.isa) ||
      plan.elements < least_few_columns_slab || plan.elements > greatest_few_columns_tile ||
      (!plan.stages_any() && plan.elements < least_few_columns_tile)) {
    return false;
  }
  set_few_columns(plan, columns);
  plan.spec.step = 1;
  plan.dense = plan.first_dense = plan.outer = Plan::none;
  stage_all(plan);
  return true;
}

/// Decides which tensors are staged. (Columns that are too long for a usual tile are staged all the same
/// where they don't fit: taken one at a time where they lie, they took up to 38 times as long as dense ones.)
void choose_staged(Plan& plan) {
  stage_misfits(plan);
  if (stages_few_columns(plan)) {
    return;
  }
  const bool are_long_columns = plan.spec.loop == Loop::columns && !columns_fit_a_tile(plan);
  if (has_short_runs(plan) && (!are_long_columns || plan.stages_any())) {
    // In tiles, positions may come in any order: with the longest loop last, copies make runs of it.
    move_loop(plan.loops(), longest_loop(plan), plan.loops().size() - 1);
    stage_all(plan);
  }
  if (plan.stages_any() && are_long_columns) {
    // In parts, as segments are.
    plan.spec.stage = jit::Stage::update;
    plan.spec.axis_rest = 0;
  }
}

/// How many positions a tile has.
std::int64_t tile_positions(const Plan& plan) {
  const std::int64_t length = plan.axis.size;
  switch (plan.spec.loop) {
    case Loop::columns:
      return std::max(least_tile_columns, usual_tile / length);
    case Loop::rows:
      return std::clamp<std::int64_t>(greatest_tile / length, 1,
                                      std::max(least_tile_rows, usual_tile / length));
    default:
      return usual_tile / length;
  }
}

/// How many columns to work on side by side: slabs are cut evenly.
std::int64_t column_tile(const Plan& plan, const CacheSizes& caches) {
  const std::int64_t steps = std::min(plan.axis.size, jit::segment_length);
  const std::int64_t fitting = caches.l2 / 2 / (steps * element_stride(plan));
  const bool fits = fitting >= narrowest_column_tile;
  const std::int64_t most = fits ? std::min(fitting, widest_column_tile) : widest_column_tile;
  const std::int64_t columns = plan.loops()[plan.dense].size;
  if (columns <= most) {
    return columns;
  }
  const std::int64_t pieces = (columns - 1) / most + 1;
  return round_up((columns - 1) / pieces + 1, cut_elements);
}

/// Where the dense loop may be cut, for blocks of about so many positions.
std::int64_t dense_cut(const Plan& plan, std::int64_t positions, const CacheSizes& caches) {
  switch (plan.spec.loop) {
    case Loop::columns:
      return column_tile(plan, caches);
    case Loop::packed_rows:
      return round_up(positions, cut_packed_rows);
    default:
      return round_up(positions, cut_elements);
  }
}

/// By a division that the compiler does: plans are made often.
std::int64_t elements_per_block(const Plan& plan) {
  constexpr std::int64_t count = tensor_count;
  return plan.element_size == 2 ? block_bytes / (2 * count) : block_bytes / (4 * count);
}

/// Blocks of about `block_bytes`, for kernels that work on the tensors themselves.
void make_blocks(Plan& plan, const CacheSizes& caches) {
  std::fill_n(plan.block.begin(), plan.loops().size(), 1);
  const std::int64_t elements = elements_per_block(plan);
  const std::int64_t length = plan.position_elements();
  std::int64_t positions = length == 1 ? elements : std::max<std::int64_t>(1, elements / length);
  const bool has_dense = plan.dense != Plan::none;
  const bool has_outer = plan.outer != Plan::none;
  if (has_dense) {
    plan.block[plan.dense] = std::min(plan.loops()[plan.dense].size, dense_cut(plan, positions, caches));
  }
  const bool cuts_dense = has_dense && is_cut(plan, plan.dense);
  const bool cuts_columns = cuts_dense && plan.spec.loop == Loop::columns;
  if (cuts_dense) {
    // Not columns, whose sums would outgrow the cache.
    plan.growing = cuts_columns ? Plan::none : plan.dense;
  } else if (has_outer) {
    positions /= has_dense ? plan.block[plan.dense] : 1;
    plan.block[plan.outer] = std::clamp<std::int64_t>(positions, 1, plan.loops()[plan.outer].size);
    plan.growing = plan.outer;
  }
  const std::size_t taken = (has_dense ? 1 : 0) + (has_outer ? 1 : 0);
  plan.is_one_call = !plan.is_segmented() && plan.loops().size() == taken && !cuts_columns;
}

/// Segments are worked on for one row, or one slab's columns, at a time.
void make_segments(Plan& plan) {
  if (plan.outer != Plan::none) {
    plan.block[plan.outer] = 1;
  }
  plan.growing = Plan::none;
  std::int64_t columns = 1;
  if (plan.dense != Plan::none) {
    columns = plan.block[plan.dense] = std::min(plan.block[plan.dense], segmented_columns);
  }
  const std::int64_t bytes = plan.element_size * static_cast<std::int64_t>(tensor_count) * columns;
  plan.update_steps = std::min(round_up(block_bytes / bytes + 1, jit::rows_chunk), jit::segment_length);
  plan.sum_steps = jit::segment_length;
}

/// The same for columns that are staged, in tiles of the usual size.
void make_staged_segments(Plan& plan) {
  make_strips(plan, plan.dense, segmented_tile_columns);
  const std::int64_t steps = usual_tile / plan.block[plan.dense];
  plan.sum_steps = plan.update_steps = steps / jit::columns_group * jit::columns_group;
}

/// Leaves a loop over few columns to the kernel, where slabs of them have all elements equally far apart.
void take_few_columns(Plan& plan) {
  if (plan.spec.loop != Loop::columns || plan.loops().empty() || plan.is_segmented()) {
    return;
  }
  const Dim& last = plan.loops().back();
  const std::int64_t size = last.size;
  const std::int64_t length = plan.axis.size;
  const bool is_narrow = size == 2 && plan.element_size == 2;
  const std::int64_t least = is_narrow ? least_axis_of_two : (least_few_columns_slab - 1) / size + 1;
  const std::int64_t stride = last.stride[diff_src];
  const std::int64_t step = stride / plan.element_size;
  if (size <= jit::few_columns_limit(plan.spec.isa) && length >= least && steps_are(last, stride) &&
      goes_on(plan.axis, last) && (step == 1 || jit::takes_step(plan.spec, step))) {
    set_few_columns(plan, size);
    plan.spec.step = static_cast<std::uint8_t>(step);
    plan.columns = last;
    plan.loops().truncate(plan.loops().size() - 1);
  }
}

}  // namespace

void arrange(Plan& plan, const CacheSizes& caches) {
  take_few_columns(plan);
  if (split_sums(plan)) {
    return;
  }
  if (!plan.loops().empty() && plan.spec.loop != Loop::rows) {
    move_dense_loop_last(plan);
  }
  set_roles(plan);
  choose_step(plan);
  choose_staged(plan);
  if (!plan.stages_any()) {
    make_blocks(plan, caches);
  } else if (plan.spec.loop == Loop::few_columns) {
    make_one_tile(plan);
  } else if (plan.spec.loop == Loop::columns && plan.is_segmented()) {
    make_staged_segments(plan);
  } else {
    choose_tiles(plan, tile_positions(plan));
  }
  if (plan.is_segmented() && plan.sum_steps == 0) {
    make_segments(plan);
  }
  choose_update(plan, caches);
}

}  // namespace gradjit::detail
