#include "jit/core/registers.hpp"

#include <algorithm>
#include <string>

#include <gradjit/error.hpp>

namespace gradjit::jit {

RegisterPool::RegisterPool(const char* kind, std::vector<int> order)
    : kind_(kind), free_(order.rbegin(), order.rend()) {}

int RegisterPool::take(const char* holds) {
  if (free_.empty()) {
    std::string message = std::string("no ") + kind_ + " register is left for " + holds + "; held:";
    for (const Held& held : held_) {
      message += std::string(" ") + held.name;
    }
    throw Error(ErrorCode::internal, message);
  }
  const int index = free_.back();
  free_.pop_back();
  held_.push_back({index, holds});
  return index;
}

void RegisterPool::give_back(int index) noexcept {
  std::erase_if(held_, [index](const Held& held) { return held.index == index; });
  free_.push_back(index);
}

}  // namespace gradjit::jit
