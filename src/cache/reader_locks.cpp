#include "src/cache/reader_locks.hpp"

#include <chrono>
#include <thread>

namespace gradjit::detail {

ReaderLocks::Writer::Writer(ReaderLocks& locks) noexcept : locks_(locks) {
  constexpr int spins = 200;
  for (Slot& slot : locks.slots_) {
    // A reader is done after some tens of nanoseconds, unless it lost its CPU: then it can have this one.
    for (int i = 0; !take(slot); ++i) {
      if (i < spins) {
        __builtin_ia32_pause();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
  }
}

ReaderLocks::Writer::~Writer() { locks_.reset(); }

std::uint64_t ReaderLocks::count() const noexcept {
  std::uint64_t sum = 0;
  for (const Slot& slot : slots_) {
    sum += slot.count.load(std::memory_order_relaxed);
  }
  return sum;
}

void ReaderLocks::reset() noexcept {
  for (Slot& slot : slots_) {
    slot.taken.store(false, std::memory_order_release);
  }
}

}  // namespace gradjit::detail
