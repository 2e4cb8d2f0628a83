#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include "src/execute/parts.hpp"
#include "src/execute/run_blocks.hpp"
#include "src/execute/scratch.hpp"

namespace gradjit::detail {
namespace {

std::int64_t divided_up(std::int64_t value, std::int64_t by) { return (value - 1) / by + 1; }

/// Room for the sums of all places.
std::int64_t room_for(const Plan& plan) {
  std::int64_t room = 1;
  for (std::size_t i = 0; i < plan.loops().size(); ++i) {
    room *= i == plan.dense ? jit::padded_columns(plan.loops()[i].size) : plan.loops()[i].size;
  }
  return room;
}

/// The part with number `index` of those of `steps` that `whole` is cut into.
AxisPart part_of(const AxisPart& whole, std::int64_t steps, std::int64_t index) {
  const std::int64_t begin = index * steps;
  return {whole.begin + begin, std::min(steps, whole.steps - begin)};
}

std::int64_t columns_of(const Plan& plan, const Block& block) {
  return plan.dense == Plan::none ? 1 : block.steps[plan.dense];
}

/// All zeros.
template <typename T>
std::unique_ptr<T[]> allocate(std::int64_t count) {
  std::unique_ptr<T[]> memory(new (std::nothrow) T[static_cast<std::size_t>(count)]());
  if (!memory) {
    throw Error(ErrorCode::out_of_memory, "no memory for " + std::to_string(count) + " sums of the axis");
  }
  return memory;
}

class SegmentedRun {
 public:
  SegmentedRun(const Launch& launch, Executor& executor, int concurrency)
      : launch_(launch),
        plan_(launch.plan),
        axis_{0, launch.plan.axis.size},
        executor_(executor),
        concurrency_(concurrency),
        grid_(launch.plan, concurrency),
        segments_(divided_up(plan_.axis.size, jit::segment_length)),
        updates_(divided_up(plan_.axis.size, plan_.update_steps)) {}

  void run() {
    if (concurrency_ == 1 || grid_.blocks() >= concurrency_ * tasks_per_thread) {
      const std::int64_t tasks = Grid::tasks(plan_, grid_.blocks(), concurrency_);
      run_parts(grid_.blocks(), tasks, executor_, [this](std::int64_t first, std::int64_t last) {
        grid_.for_each(first, last, [this](const Block& block) { run_block(block); });
      });
      return;
    }
    run_phases();
  }

 private:
  /// All segments of one block, by one thread: what the sums have read may still be in the cache.
  void run_block(const Block& block) const {
    const std::int64_t columns = columns_of(plan_, block);
    double totals[segmented_columns] = {};
    double sums[segmented_columns];
    // Zeros beyond the columns: what lies there by chance may be subnormals, which took 20 to 100 times as
    // long.
    float rounded[segmented_columns] = {};
    std::fill_n(sums, columns, 0.0);
    for (std::int64_t segment = 0; segment < segments_; ++segment) {
      sum_segment(block, segment, totals);
      add(sums, totals, columns);
      std::fill_n(totals, columns, 0.0);
    }
    round(rounded, sums, columns);
    for (std::int64_t index = 0; index < updates_; ++index) {
      call_update(launch_, block, part_of(axis_, plan_.update_steps, index), rounded);
    }
  }

  /// Adds a segment's totals to `totals`, which are zeros.
  void sum_segment(const Block& block, std::int64_t index, double* totals) const {
    const AxisPart segment = part_of(axis_, jit::segment_length, index);
    const std::int64_t parts = divided_up(segment.steps, plan_.sum_steps);
    for (std::int64_t part = 0; part < parts; ++part) {
      call_sum(launch_, block, part_of(segment, plan_.sum_steps, part), totals);
    }
  }

  /// Few blocks: the segments are what threads share.
  void run_phases() const {
    const std::int64_t room = room_for(plan_);
    const auto totals = allocate<double>(segments_ * room);
    const auto sums = allocate<double>(room);
    const auto rounded = allocate<float>(room);
    run_phase(segments_, [&](const Block& block, std::int64_t segment) {
      sum_segment(block, segment, totals.get() + segment * room + block.place);
    });
    for (std::int64_t segment = 0; segment < segments_; ++segment) {
      add(sums.get(), totals.get() + segment * room, room);
    }
    round(rounded.get(), sums.get(), room);
    run_phase(updates_, [&](const Block& block, std::int64_t index) {
      call_update(launch_, block, part_of(axis_, plan_.update_steps, index), rounded.get() + block.place);
    });
  }

  /// Calls `body(block, index)` for each block and each of `parts` parts of the axis.
  template <typename Body>
  void run_phase(std::int64_t parts, const Body& body) const {
    const std::int64_t count = grid_.blocks() * parts;
    const std::int64_t tasks = Grid::tasks(plan_, count, concurrency_);
    run_parts(count, tasks, executor_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t number = i / parts;
        grid_.for_each(number, number + 1, [&](const Block& block) { body(block, i % parts); });
      }
    });
  }

  static void add(double* sums, const double* totals, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      sums[i] += totals[i];
    }
  }

  static void round(float* rounded, const double* sums, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      rounded[i] = static_cast<float>(sums[i]);
    }
  }

  const Launch& launch_;
  const Plan& plan_;
  AxisPart axis_;  ///< All of it.
  Executor& executor_;
  int concurrency_;
  Grid grid_;
  std::int64_t segments_;  ///< Parts of the axis that are summed,
  std::int64_t updates_;   ///< and that are updated.
};

}  // namespace

void run_segments(const Launch& launch, Executor& executor, int concurrency) {
  SegmentedRun(launch, executor, concurrency).run();
}

}  // namespace gradjit::detail
