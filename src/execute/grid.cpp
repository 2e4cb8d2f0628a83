#include "src/execute/grid.hpp"

#include <algorithm>

namespace gradjit::detail {
namespace {

std::int64_t divided_up(std::int64_t value, std::int64_t by) { return (value - 1) / by + 1; }

}  // namespace

Grid::Grid(const Plan& plan, int concurrency) : plan_(plan) {
  std::copy_n(plan.block.begin(), plan.loops().size(), block_.begin());
  if (plan.dense != Plan::none) {
    block_[plan.dense] = columns_of_block(plan, concurrency);
  }
  bool is_last = true;  // Of the loops that have several blocks.
  for (std::size_t i = plan.loops().size(); i-- > 0;) {
    counts_[i] = divided_up(plan.loops()[i].size, block_[i]);
    blocks_ *= counts_[i];
    if (is_last && i == plan.growing) {
      growing_ = i;
    }
    is_last = is_last && counts_[i] == 1;
  }
}

std::int64_t Grid::columns_of_block(const Plan& plan, int concurrency) {
  const std::int64_t columns = plan.block[plan.dense];
  // Not inside a run of several loops, which would no longer go on where they end.
  if (concurrency <= 1 || plan.spec.loop != jit::Loop::columns || plan.first_dense != plan.dense) {
    return columns;
  }
  std::int64_t others = 1;
  for (std::size_t i = 0; i < plan.loops().size(); ++i) {
    others *= i == plan.dense ? 1 : divided_up(plan.loops()[i].size, plan.block[i]);
  }
  const std::int64_t pieces = divided_up(concurrency * tasks_per_thread, others);
  const std::int64_t width = divided_up(plan.loops()[plan.dense].size, pieces);
  return std::min(columns, divided_up(width, cut_elements) * cut_elements);
}

bool Grid::cuts_columns(const Plan& plan, int concurrency) {
  return plan.dense != Plan::none && columns_of_block(plan, concurrency) < plan.loops()[plan.dense].size;
}

std::int64_t Grid::tasks(const Plan& plan, std::int64_t parts, int concurrency) {
  if (concurrency <= 1) {
    return 1;
  }
  const std::int64_t most = std::min(concurrency * tasks_per_thread, divided_up(plan.bytes, block_bytes));
  return std::min(parts, most);
}

Grid::Index Grid::index_of(std::int64_t number) const {
  Index index;
  for (std::size_t i = plan_.loops().size(); i-- > 0;) {
    index[i] = number % counts_[i];
    number /= counts_[i];
  }
  return index;
}

Block Grid::block_at(const Index& index, std::int64_t grown) const {
  Block block;
  block.offset = {};
  block.place = 0;
  for (std::size_t i = 0; i < plan_.loops().size(); ++i) {
    const Dim& dim = plan_.loops()[i];
    const std::int64_t begin = index[i] * block_[i];
    const std::int64_t steps = i == growing_ ? grown * block_[i] : block_[i];
    block.steps[i] = std::min(steps, dim.size - begin);
    block.place = block.place * (i == plan_.dense ? jit::padded_columns(dim.size) : dim.size) + begin;
    for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
      block.offset[tensor] += begin * dim.stride[tensor];
    }
  }
  return block;
}

void Grid::advance(Index& index, std::int64_t grown) const {
  std::size_t i = plan_.loops().size();
  if (growing_ != Plan::none) {
    i = growing_ + 1;  // The loops after it have one block.
  }
  while (i-- > 0) {
    index[i] += grown;
    if (index[i] < counts_[i]) {
      return;
    }
    index[i] = 0;
    grown = 1;
  }
}

}  // namespace gradjit::detail
