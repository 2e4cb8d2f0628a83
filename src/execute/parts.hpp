#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <gradjit/error.hpp>
#include <gradjit/executor.hpp>

namespace gradjit::detail {

/// Calls `body(first, last)` for ranges that together are [0, count), as `tasks` tasks of `executor`; for
/// one task, on the calling thread without the executor. Where a body throws, the others still run, and then
/// one out_of_memory is thrown: there is no other reason for which scratch could not be had.
template <typename Body>
void run_parts(std::int64_t count, std::int64_t tasks, Executor& executor, const Body& body) {
  if (tasks <= 1) {
    body(std::int64_t{0}, count);
    return;
  }
  struct Context {
    std::int64_t count;
    std::int64_t tasks;
    const Body& body;
    std::atomic<bool> has_failed;
  } context{count, tasks, body, false};
  const auto task = [](void* opaque, std::size_t index) {
    auto& c = *static_cast<Context*>(opaque);
    const auto part = static_cast<std::int64_t>(index);
    // The first `more` parts get one item more.
    const std::int64_t share = c.count / c.tasks;
    const std::int64_t more = c.count % c.tasks;
    const std::int64_t first = part * share + (part < more ? part : more);
    try {
      c.body(first, first + share + (part < more ? 1 : 0));
    } catch (...) {
      c.has_failed.store(true, std::memory_order_relaxed);
    }
  };
  executor.parallel_for(static_cast<std::size_t>(tasks), task, &context);
  if (context.has_failed.load(std::memory_order_relaxed)) {
    throw Error(ErrorCode::out_of_memory, "no memory for the scratch of a task");
  }
}

}  // namespace gradjit::detail
