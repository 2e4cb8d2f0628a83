#include "src/execute/state_memo.hpp"

#include <algorithm>
#include <utility>

namespace gradjit::detail {

StateMemo::StateMemo()
    : fork_handler_([](void* memo, ForkEvent event) { static_cast<StateMemo*>(memo)->on_fork(event); },
                    this) {}

StateMemo::State StateMemo::find(const RequestKey& key, std::uint64_t hash) noexcept {
  ReaderLocks::Reader reader(locks_);
  if (!reader || memories_[reader.slot()] == nullptr) {
    return nullptr;
  }
  for (const Entry& entry : (*memories_[reader.slot()])[hash % sets].entries) {
    if (entry.hash == hash && std::ranges::equal(entry.words, key.words())) {
      reader.add_to_count(entry.state->mark_used());
      return entry.state;
    }
  }
  return nullptr;
}

void StateMemo::keep(const RequestKey& key, std::uint64_t hash, State state, std::uint64_t generation) {
  // What it replaces is destroyed after the slot is free again: that may take long.
  Entry entry{hash, {key.words().begin(), key.words().end()}, std::move(state)};
  const ReaderLocks::Reader reader(locks_);
  if (!reader || generation != this->generation()) {
    return;
  }
  std::unique_ptr<Memory>& memory = memories_[reader.slot()];
  if (memory == nullptr) {
    memory = std::make_unique<Memory>();
  }
  Set& set = (*memory)[hash % sets];
  std::swap(set.entries[set.oldest], entry);
  set.oldest = (set.oldest + 1) % ways;
}

void StateMemo::forget() noexcept {
  decltype(memories_) forgotten;  // Destroyed last: code memory has a lock of its own.
  const std::lock_guard lock(mutex_);
  const ReaderLocks::Writer all_slots(locks_);
  generation_.fetch_add(1, std::memory_order_relaxed);
  memories_.swap(forgotten);
}

// Takes all slots: a child has no use for memories that a thread it doesn't have was changing.
void StateMemo::on_fork(ForkEvent event) noexcept {
  if (event == ForkEvent::before) {
    mutex_.lock();
    held_during_fork_.emplace(locks_);
  } else {
    held_during_fork_.reset();
    mutex_.unlock();
  }
}

}  // namespace gradjit::detail
