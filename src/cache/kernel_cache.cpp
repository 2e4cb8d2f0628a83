#include "src/cache/kernel_cache.hpp"

#include <utility>

#include <gradjit/error.hpp>

namespace gradjit::detail {

KernelCache::KernelCache(std::size_t capacity, std::function<void()> evicted)
    : capacity_(capacity),
      evicted_(std::move(evicted)),
      fork_handler_([](void* cache, ForkEvent event) { static_cast<KernelCache*>(cache)->on_fork(event); },
                    this) {}

KernelCache::Kernel KernelCache::get(const jit::KernelSpec& spec, const Make& make) {
  if (Kernel kernel = find(spec)) {
    return kernel;
  }
  return find_or_make(spec, make);
}

// The fast way: null also when a writer is at work.
KernelCache::Kernel KernelCache::find(const jit::KernelSpec& spec) {
  ReaderLocks::Reader reader(reader_locks_);
  if (!reader) {
    return nullptr;
  }
  const auto found = entries_.find(spec);
  if (found == entries_.end()) {
    return nullptr;
  }
  found->second->used.set();
  reader.add_to_count(1);
  return found->second;
}

KernelCache::Kernel KernelCache::find_or_make(const jit::KernelSpec& spec, const Make& make) {
  Lock lock(mutex_);
  for (bool counted = false;; counted = true) {
    if (const auto found = entries_.find(spec); found != entries_.end()) {
      stats_.hits += counted ? 0 : 1;
      found->second->used.set();
      return found->second;
    }
    stats_.misses += counted ? 0 : 1;
    const auto found = flights_.find(spec);
    if (found == flights_.end()) {
      return lead(spec, make, lock);
    }
    const std::shared_ptr<Flight> flight = found->second;
    flight->done.wait(lock, [&flight] { return flight->over; });
    if (flight->kernel) {
      return flight->kernel;
    }
  }
}

KernelCache::Kernel KernelCache::lead(const jit::KernelSpec& spec, const Make& make, Lock& lock) {
  const auto flight = std::make_shared<Flight>();
  flights_.emplace(spec, flight);
  lock.unlock();
  Kernel kernel;
  Kernel evicted;  // Destroyed after the lock is released: code memory has a lock of its own.
  try {
    kernel = make(spec);
    if (!kernel) {
      throw Error(ErrorCode::internal, "no kernel was made for " + jit::name_of(spec));
    }
    lock.lock();
    ++stats_.emissions;
    insert(spec, kernel, evicted);
  } catch (...) {
    if (!lock.owns_lock()) {
      lock.lock();
    }
    end(spec, flight, nullptr);
    lock.unlock();
    throw;
  }
  end(spec, flight, kernel);
  lock.unlock();
  if (evicted) {
    evicted_();
  }
  return kernel;
}

void KernelCache::end(const jit::KernelSpec& spec, const std::shared_ptr<Flight>& flight,
                      Kernel kernel) noexcept {
  flight->over = true;
  flight->kernel = std::move(kernel);
  flights_.erase(spec);
  flight->done.notify_all();
}

// `evicted` is for the caller to drop, after it has released the lock.
void KernelCache::insert(const jit::KernelSpec& spec, const Kernel& kernel, Kernel& evicted) {
  if (capacity_ == 0) {
    return;
  }
  Clock place(1);
  const bool full = entries_.size() >= capacity_;
  if (full) {
    move_hand_to_victim();  // While readers go on: it may be a long way.
  }
  const ReaderLocks::Writer writer(reader_locks_);
  place.front() = &*entries_.emplace(spec, kernel).first;
  if (full) {
    evicted = remove_victim();
  }
  clock_.splice(hand_, place);  // Just behind the hand, which comes to it last.
  stats_.code_bytes += kernel->code_bytes();
}

void KernelCache::move_hand_to_victim() noexcept {
  for (;;) {
    if (hand_ == clock_.end()) {
      hand_ = clock_.begin();
    }
    if (!(*hand_)->second->used.take()) {
      return;
    }
    ++hand_;
  }
}

KernelCache::Kernel KernelCache::remove_victim() noexcept {
  const Entries::value_type& entry = **hand_;
  Kernel victim = entry.second;
  hand_ = clock_.erase(hand_);
  entries_.erase(jit::KernelSpec(entry.first));  // A copy: the entry's own goes with it.
  ++stats_.evictions;
  stats_.code_bytes -= victim->code_bytes();
  return victim;
}

FactoryStats KernelCache::stats() const {
  const std::lock_guard lock(mutex_);
  FactoryStats stats = stats_;
  stats.hits += reader_locks_.count();
  stats.kernels = entries_.size();
  return stats;
}

void KernelCache::on_fork(ForkEvent event) noexcept {
  if (event == ForkEvent::before) {
    mutex_.lock();
    return;
  }
  if (event == ForkEvent::in_child) {
    reader_locks_.reset();
    // The threads that were making these kernels don't exist here. (They own the flights too, so that no
    // condition variable is destroyed that the lost threads wait on.)
    flights_.clear();
  }
  mutex_.unlock();
}

}  // namespace gradjit::detail
