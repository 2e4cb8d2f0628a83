#include "src/plan/split.hpp"

#include <algorithm>
#include <optional>

#include "src/plan/layout.hpp"
#include "src/plan/tiles.hpp"

namespace gradjit::detail {
namespace {

using jit::Loop;

/// The kernel that updates all tensors where they lie; nothing if that is no other kernel's way.
std::optional<jit::KernelSpec> update_spec_of(const Plan& plan) {
  const Dim& last = plan.loops()[plan.loops().size() - 1];
  const std::int64_t length = plan.axis.size;
  jit::KernelSpec spec = plan.spec;
  spec.stage = jit::Stage::update;
  if (plan.spec.loop == Loop::columns && steps_are(plan.axis, plan.element_size)) {
    const bool is_short = length <= jit::packed_rows_limit;
    spec.loop = is_short ? Loop::packed_rows : Loop::rows;
    spec.axis_rest = static_cast<std::uint32_t>(is_short ? length : length % jit::rows_chunk);
    return !is_short || steps_are(last, length * plan.element_size) ? std::optional(spec) : std::nullopt;
  }
  if (plan.spec.loop == Loop::rows && steps_are(last, plan.element_size)) {
    spec.loop = Loop::columns;
    spec.axis_rest = 0;  // A sum's.
    return spec;
  }
  return std::nullopt;
}

}  // namespace

bool split_sums(Plan& plan) {
  const std::int64_t length = plan.axis.size;
  if (plan.loops().empty() || plan.is_segmented() || length > greatest_tile / least_tile_columns) {
    return false;
  }
  const std::size_t last = plan.loops().size() - 1;
  const std::int64_t size = plan.loops()[last].size;
  const std::optional<jit::KernelSpec> spec = update_spec_of(plan);
  if (!spec || (last > 0 && size * length < least_split_tile)) {
    return false;
  }
  plan.sum_spec = plan.spec;
  plan.sum_spec.stage = jit::Stage::sum;
  plan.sum_spec.in_place = false;
  plan.spec = *spec;
  plan.is_split = true;
  plan.staged = {false, true, false};
  (spec->loop == Loop::rows ? plan.outer : plan.dense) = last;
  plan.first_dense = plan.dense;
  const std::int64_t least = plan.sum_spec.loop == Loop::rows ? least_tile_rows : least_tile_columns;
  make_strips(plan, last, std::max(least, usual_tile / length));
  return true;
}

}  // namespace gradjit::detail
