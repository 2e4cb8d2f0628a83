#include "jit/core/registers.hpp"

#include <algorithm>

#include <gradjit/error.hpp>

namespace gradjit::jit {

RegisterPool::RegisterPool(std::string kind, std::vector<int> order)
    : kind_(std::move(kind)), free_(order.rbegin(), order.rend()) {}

int RegisterPool::take(std::string holds) {
  if (free_.empty()) {
    std::string message = "no " + kind_ + " register is left for " + holds + "; held:";
    for (const Held& held : held_) {
      message += " " + held.name;
    }
    throw Error(ErrorCode::internal, message);
  }
  const int index = free_.back();
  free_.pop_back();
  held_.push_back({index, std::move(holds)});
  return index;
}

void RegisterPool::give_back(int index) noexcept {
  std::erase_if(held_, [index](const Held& held) { return held.index == index; });
  free_.push_back(index);
}

}  // namespace gradjit::jit
