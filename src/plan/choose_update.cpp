#include "src/plan/choose_update.hpp"

#include <algorithm>

#include "src/plan/layout.hpp"

namespace gradjit::detail {
namespace {

using jit::Loop;

constexpr std::int64_t line_bytes = 64;

/// The steps of a slab are adjacent in all tensors, and it pays to take the slab as one run.
bool has_dense_slabs(const Plan& plan) {
  if (plan.spec.loop != Loop::columns || plan.spec.stage != jit::Stage::whole || plan.stages_any() ||
      plan.spec.step != 1 || plan.dense == Plan::none) {
    return false;
  }
  const std::int64_t columns = plan.loops()[plan.dense].size;
  return plan.block[plan.dense] == columns && columns > jit::few_columns_limit(plan.spec.isa) &&
         columns <= most_slab_columns &&
         (plan.axis.size >= least_slab_axis || columns >= 2 * least_tile_columns) &&
         steps_are(plan.axis, columns * plan.element_size);
}

/// The rows that a kernel takes are adjacent in all tensors. (Beyond the caches, out of place, updating them
/// as one run takes f32 rows of 33 to 255 elements 0.65 to 0.8 times as long, rows of 300 and 513 0.9 times,
/// bf16 0.85 to 1.0 times. In the caches, that is 0.8 to 1.3 times.)
bool has_dense_rows(const Plan& plan) {
  return plan.spec.loop == Loop::rows && plan.spec.stage == jit::Stage::whole && plan.outer != Plan::none &&
         steps_are(plan.loops()[plan.outer], plan.axis.size * plan.element_size);
}

/// The tensors are so large, and lie so, that it would pay to store results past the caches.
bool may_stream(const Plan& plan, const CacheSizes& caches) {
  return plan.bytes > std::min(caches.l3, streamed_l2_caches * caches.l2) && !plan.stages_any() &&
         plan.spec.step == 1;
}

/// The elements that a kernel updates as one run, all adjacent.
std::int64_t run_elements(const Plan& plan) {
  const std::int64_t columns = plan.dense == Plan::none ? plan.columns.size : plan.block[plan.dense];
  const bool is_along_axis = plan.spec.loop != Loop::columns || plan.spec.is_dense;
  return is_along_axis ? columns * plan.axis.size : columns;
}

/// The kernel goes from any address to where diff_src is aligned first, with runs that are worth it.
bool has_long_runs(const Plan& plan) {
  const bool takes_any_address = plan.spec.loop != Loop::packed_rows && plan.spec.loop != Loop::few_columns;
  return takes_any_address && run_elements(plan) >= least_streamed_run / plan.element_size;
}

/// What runs are to be multiples of, in bytes: where one of diff_src begins at such a place, all do, and they
/// end at one, but for packed rows, whose last block goes another way. Cache lines; less where runs that
/// follow one another fill the lines together. (There, f32 takes 0.65 to 0.8 times as long as unstreamed.
/// Runs that end inside a line and don't go on would take 1.3 to 2.7 times as long.)
std::int64_t streamed_unit(const Plan& plan) {
  const ByteRange& range = plan.range[diff_src];
  const bool has_no_gaps = range.end - range.begin == plan.elements * plan.element_size;
  return has_no_gaps && jit::streams_in_pieces(plan.spec) ? jit::piece_bytes : line_bytes;
}

bool runs_are_multiples(const Plan& plan, std::int64_t unit) {
  const auto keeps_unit = [unit](const Dim& dim) {
    return dim.size == 1 || dim.stride[diff_src] % unit == 0;
  };
  bool result = plan.spec.loop == Loop::packed_rows || run_elements(plan) * plan.element_size % unit == 0;
  result = result && (plan.spec.loop != Loop::columns || plan.spec.is_dense || keeps_unit(plan.axis));
  for (std::size_t i = 0; result && i < plan.loops().size(); ++i) {
    result = i == plan.dense || keeps_unit(plan.loops()[i]);
  }
  return result;
}

}  // namespace

void choose_update(Plan& plan, const CacheSizes& caches) {
  const bool is_large = may_stream(plan, caches);
  const bool are_rows_one_run = is_large && !plan.spec.in_place && has_dense_rows(plan);
  if (are_rows_one_run || (is_large && has_long_runs(plan))) {
    plan.spec.is_dense = are_rows_one_run;
    plan.spec.streaming = true;
    plan.diff_src_alignment = plan.element_size;
    return;
  }
  plan.spec.is_dense = has_dense_slabs(plan);
  const std::int64_t unit = streamed_unit(plan);
  if (is_large && runs_are_multiples(plan, unit)) {
    plan.spec.streaming = true;
    plan.diff_src_alignment = unit;
  }
}

}  // namespace gradjit::detail
