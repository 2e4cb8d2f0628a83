#include "src/process/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <vector>

namespace gradjit::detail {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<const ForkHandler*> handlers;
};

// Never destroyed: a fork may come at any time, also while the process exits.
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

std::atomic<bool> forked_child{false};

void call_all(ForkEvent event) {
  for (const ForkHandler* const handler : registry().handlers) {
    handler->call(event);
  }
}

void before_fork() {
  registry().mutex.lock();
  call_all(ForkEvent::before);
}

void after_fork_in_parent() {
  call_all(ForkEvent::in_parent);
  registry().mutex.unlock();
}

void after_fork_in_child() {
  forked_child.store(true, std::memory_order_relaxed);
  call_all(ForkEvent::in_child);
  registry().mutex.unlock();
}

// When the library is loaded, not when it is first used: what a host did with OpenMP before it forked and
// first used gradjit in the child matters too.
[[maybe_unused]] const int registered =
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

}  // namespace

bool in_forked_child() noexcept { return forked_child.load(std::memory_order_relaxed); }

ForkHandler::ForkHandler(Function function, void* context) : function_(function), context_(context) {
  const std::lock_guard lock(registry().mutex);
  registry().handlers.push_back(this);
}

ForkHandler::~ForkHandler() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().handlers, this);
}

}  // namespace gradjit::detail
