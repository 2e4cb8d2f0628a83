#pragma once

#include <functional>

namespace gradjit::test {

/// Forks, and runs `body` in the child. Returns 0 if it returned true, 1 if false, 2 if it threw, and
/// minus the signal's number if one ended the child (-14, SIGALRM, when it hung).
[[nodiscard]] int run_in_child(const std::function<bool()>& body);

/// The two halves of that, for what the parent does meanwhile.
[[nodiscard]] int start_child(const std::function<bool()>& body);
[[nodiscard]] int wait_for_child(int pid);

/// One byte from one process to another.
class Signal {
 public:
  Signal();
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void send() const;
  /// Throws when nothing comes for half a minute.
  void wait() const;

 private:
  int ends_[2];
};

}  // namespace gradjit::test
