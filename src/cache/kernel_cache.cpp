#include "src/cache/kernel_cache.hpp"

#include <utility>

#include <gradjit/error.hpp>

namespace gradjit::detail {

KernelCache::KernelCache(std::size_t capacity)
    : capacity_(capacity),
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
  Entry& entry = found->second;
  // Storing only what changes keeps the cache line shared between the threads that use the kernel.
  if (!entry.used.load(std::memory_order_relaxed)) {
    entry.used.store(true, std::memory_order_relaxed);
  }
  reader.add_to_count();
  return entry.shares[reader.slot() % entry.shares.size()];
}

KernelCache::Shares KernelCache::shares_of(const Kernel& kernel) {
  Shares shares;
  for (Kernel& share : shares) {
    share = Kernel(kernel.get(), [kernel](const CompiledKernel*) {});
  }
  return shares;
}

KernelCache::Kernel KernelCache::find_or_make(const jit::KernelSpec& spec, const Make& make) {
  Lock lock(mutex_);
  for (bool counted = false;; counted = true) {
    if (const auto found = entries_.find(spec); found != entries_.end()) {
      stats_.hits += counted ? 0 : 1;
      found->second.used.store(true, std::memory_order_relaxed);
      return found->second.shares[0];
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
  Shares evicted;  // Destroyed after the lock is released: code memory has a lock of its own.
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
void KernelCache::insert(const jit::KernelSpec& spec, const Kernel& kernel, Shares& evicted) {
  if (capacity_ == 0) {
    return;
  }
  Shares shares = shares_of(kernel);
  std::list<Entry*> place(1);
  const bool full = entries_.size() >= capacity_;
  if (full) {
    move_hand_to_victim();  // While readers go on: it may be a long way.
  }
  const ReaderLocks::Writer writer(reader_locks_);
  if (full) {
    evicted = remove_victim();
  }
  Entry& entry = entries_[spec];
  entry.spec = spec;
  entry.shares = std::move(shares);
  place.front() = &entry;
  clock_.splice(hand_, place);  // Just behind the hand, which comes to it last.
  stats_.code_bytes += kernel->code_bytes();
}

void KernelCache::move_hand_to_victim() noexcept {
  for (;;) {
    if (hand_ == clock_.end()) {
      hand_ = clock_.begin();
    }
    if (!(*hand_)->used.exchange(false, std::memory_order_relaxed)) {
      return;
    }
    ++hand_;
  }
}

KernelCache::Shares KernelCache::remove_victim() noexcept {
  Entry& entry = **hand_;
  Shares shares = std::move(entry.shares);
  hand_ = clock_.erase(hand_);
  entries_.erase(jit::KernelSpec(entry.spec));  // A copy: the entry's own goes with it.
  ++stats_.evictions;
  stats_.code_bytes -= shares[0]->code_bytes();
  return shares;
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
