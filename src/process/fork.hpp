#pragma once

#include <cstdint>
#include <mutex>

namespace gradjit::detail {

/// True in a child that was forked from a process in which gradjit was loaded. Threads of the parent, and
/// what they held, don't exist in such a child.
[[nodiscard]] bool in_forked_child() noexcept;

/// An object that is made when it is first asked for, and never destroyed: threads may still ask for it while
/// the process exits. Unlike a static local, it is made anew in a child that was forked while another thread
/// of its parent made it. To be a static variable.
template <typename T>
class MadeOnce {
 public:
  /// The same object each time; the first time, `make()` returns a pointer to it. Throws what that throws,
  /// and then tries again the next time.
  template <typename Make>
  T& get(const Make& make) {
    std::call_once(is_made_, [&] { object_ = make(); });
    return *object_;
  }

 private:
  std::once_flag is_made_;
  T* object_ = nullptr;
};

/// The three moments of a fork: just before it, and just after it on either side.
enum class ForkEvent : std::uint8_t { before, in_parent, in_child };

/// Has a function called at every fork for as long as it lives. Use: take a lock `before`, release it
/// afterwards on both sides, so that no child inherits a lock that nobody will release. Locks taken this
/// way must not be taken one within the other elsewhere, because the order of the calls is nobody's
/// choice. Declare it as the last member: a fork in another thread may call it at once.
class ForkHandler {
 public:
  using Function = void (*)(void* context, ForkEvent event);

  ForkHandler(Function function, void* context);
  ~ForkHandler();
  ForkHandler(const ForkHandler&) = delete;
  ForkHandler& operator=(const ForkHandler&) = delete;

  /// Calls the function. Only for the registry.
  void call(ForkEvent event) const { function_(context_, event); }

 private:
  Function function_;
  void* context_;
};

}  // namespace gradjit::detail
