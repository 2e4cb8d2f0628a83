#pragma once

#include <utility>
#include <vector>

namespace gradjit::jit {

/// The registers of one kind that are free to hold something. Each one handed out carries the name of
/// what it holds (a string that stays, as literals do), so that running out says who has them.
class RegisterPool {
 public:
  /// `order`: the register numbers, the preferred ones first.
  RegisterPool(const char* kind, std::vector<int> order);
  RegisterPool(const RegisterPool&) = delete;
  RegisterPool& operator=(const RegisterPool&) = delete;

  /// Throws `Error` (internal) that lists what is held when none is free.
  [[nodiscard]] int take(const char* holds);
  void give_back(int index) noexcept;
  /// Makes one more register available, after those already in the pool.
  void add(int index) { free_.insert(free_.begin(), index); }
  [[nodiscard]] int free() const noexcept { return static_cast<int>(free_.size()); }

 private:
  struct Held {
    int index;
    const char* name;
  };
  const char* kind_;
  std::vector<int> free_;  // the next to hand out is last
  std::vector<Held> held_;
};

/// A register taken from a pool for as long as this object lives. `Kind` keeps the kinds apart.
template <typename Kind>
class Register {
 public:
  Register() = default;
  Register(RegisterPool& pool, const char* holds) : pool_(&pool), index_(pool.take(holds)) {}
  Register(Register&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), index_(std::exchange(other.index_, -1)) {}
  Register& operator=(Register&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(index_, other.index_);
    return *this;
  }
  ~Register() {
    if (pool_ != nullptr) {
      pool_->give_back(index_);
    }
  }

  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] bool held() const noexcept { return pool_ != nullptr; }

 private:
  RegisterPool* pool_ = nullptr;
  int index_ = -1;
};

using Vec = Register<struct VectorKind>;
using General = Register<struct GeneralKind>;
using Opmask = Register<struct OpmaskKind>;

}  // namespace gradjit::jit
