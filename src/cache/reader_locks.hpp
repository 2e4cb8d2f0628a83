#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gradjit::detail {

/// A lock for data that is read all the time and changed rarely. Each reader takes one of many slots,
/// usually one that no other thread uses, so that readers don't slow each other down; a writer takes all.
/// Readers never wait. A reader may write to what belongs to its slot alone. What keeps writers apart is
/// another lock.
class ReaderLocks {
  // A cache line each, and its neighbour, which the hardware may fetch along with it.
  struct alignas(128) Slot {
    std::atomic<bool> taken{false};
    std::atomic<std::uint64_t> count{0};
  };

 public:
  /// Holds a slot, if it got one: not while a writer is at work.
  class Reader {
   public:
    explicit Reader(ReaderLocks& locks) noexcept : slot_(locks.take_slot()), first_(locks.slots_.data()) {}
    ~Reader() {
      if (slot_ != nullptr) {
        slot_->taken.store(false, std::memory_order_release);
      }
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    [[nodiscard]] explicit operator bool() const noexcept { return slot_ != nullptr; }

    /// Which slot it is, less than `slot_count`. Needs the slot.
    [[nodiscard]] std::size_t slot() const noexcept { return static_cast<std::size_t>(slot_ - first_); }

    /// Adds to `count()`. Needs the slot.
    void add_to_count(std::uint64_t more) noexcept {
      // The slot is this thread's alone, so that this needs no atomic addition.
      slot_->count.store(slot_->count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }

   private:
    Slot* slot_;
    const Slot* first_;
  };

  /// Holds all slots.
  class Writer {
   public:
    explicit Writer(ReaderLocks& locks) noexcept;
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

   private:
    ReaderLocks& locks_;
  };

  static constexpr std::size_t slot_count = 32;

  /// What all readers have added so far.
  [[nodiscard]] std::uint64_t count() const noexcept;

  /// Frees all slots: for a forked child, where the threads that took them don't exist.
  void reset() noexcept;

 private:
  static constexpr std::size_t attempts = 3;

  [[nodiscard]] static std::size_t thread_number() noexcept {
    static std::atomic<std::size_t> next{0};
    thread_local const std::size_t number = next.fetch_add(1, std::memory_order_relaxed);
    return number;
  }

  [[nodiscard]] static bool take(Slot& slot) noexcept {
    return !slot.taken.load(std::memory_order_relaxed) &&
           !slot.taken.exchange(true, std::memory_order_acquire);
  }

  [[nodiscard]] Slot* take_slot() noexcept {
    const std::size_t first = thread_number();
    for (std::size_t i = 0; i < attempts; ++i) {
      Slot& slot = slots_[(first + i) % slot_count];
      if (take(slot)) {
        return &slot;
      }
    }
    return nullptr;
  }

  std::array<Slot, slot_count> slots_;
};

}  // namespace gradjit::detail
