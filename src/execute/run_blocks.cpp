#include "src/execute/run_blocks.hpp"

#include "src/execute/parts.hpp"

namespace gradjit::detail {

void run_blocks(const Launch& launch, Executor& executor, int concurrency) {
  const auto call = launch.plan.is_split ? call_split : call_whole;
  const Grid grid(launch.plan, concurrency);
  const std::int64_t tasks = Grid::tasks(launch.plan, grid.blocks(), concurrency);
  run_parts(grid.blocks(), tasks, executor, [&](std::int64_t first, std::int64_t last) {
    grid.for_each(first, last, [&](const Block& block) { call(launch, block); });
  });
}

}  // namespace gradjit::detail
