#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "src/cache/reader_locks.hpp"
#include "src/execute/kernel_state.hpp"
#include "src/plan/request_key.hpp"
#include "src/process/fork.hpp"

namespace gradjit::detail {

/// Remembers what came of the requests that each thread made last, so that one made again is neither
/// checked nor planned again: that is two thirds of the time that a request takes whose kernels are cached.
/// Thread-safe; usable in a forked child.
///
/// Threads have memories of their own (but for those beyond `ReaderLocks::slot_count`), so that they don't
/// wait for one another, nor write to the same reference count.
class StateMemo {
 public:
  using State = std::shared_ptr<const KernelState>;

  StateMemo();

  /// What `keep` was given for such a key; null if it is not remembered. Counts as many hits as the state
  /// has kernels, and tells these that they were asked for.
  [[nodiscard]] State find(const RequestKey& key, std::uint64_t hash) noexcept;

  /// How often all was forgotten. Read it before the kernels of a state are taken from the cache.
  [[nodiscard]] std::uint64_t generation() const noexcept {
    return generation_.load(std::memory_order_relaxed);
  }
  /// Remembers a state, in place of the oldest of those whose hashes are alike. Not if `generation` has
  /// passed: then the cache may have let go of one of its kernels.
  void keep(const RequestKey& key, std::uint64_t hash, State state, std::uint64_t generation);

  /// Forgets all. For when the cache lets go of a kernel, which a state must not keep alive.
  void forget() noexcept;

  [[nodiscard]] std::uint64_t hits() const noexcept { return locks_.count(); }

 private:
  static constexpr std::size_t sets = 16;
  static constexpr std::size_t ways = 4;

  struct Entry {
    std::uint64_t hash = 0;
    std::vector<std::int64_t> words;  ///< The key.
    State state;
  };
  struct Set {
    std::array<Entry, ways> entries;
    std::size_t oldest = 0;
  };
  using Memory = std::array<Set, sets>;

  void on_fork(ForkEvent event) noexcept;

  ReaderLocks locks_;
  /// One for each slot of `locks_`; null until it is used.
  std::array<std::unique_ptr<Memory>, ReaderLocks::slot_count> memories_;
  std::atomic<std::uint64_t> generation_{0};
  std::mutex mutex_;  ///< Whoever takes all slots holds it.
  std::optional<ReaderLocks::Writer> held_during_fork_;
  ForkHandler fork_handler_;
};

}  // namespace gradjit::detail
