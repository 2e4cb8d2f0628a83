#pragma once

namespace gradjit::bench {

/// Something that is timed. What happens in a repetition is `begin`, then any number of calls, then `end`;
/// only the calls are timed. All on one thread.
class Contender {
 public:
  /// What is called: the same kind of call for all, so that none has an advantage.
  struct Call {
    void (*function)(void* context);
    void* context;
  };

  Contender() = default;
  virtual ~Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  virtual void begin() {}
  /// Valid as long as the contender.
  [[nodiscard]] virtual Call call() = 0;
  virtual void end() {}
};

}  // namespace gradjit::bench
