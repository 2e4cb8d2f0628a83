#pragma once

#include <functional>

namespace gradjit::test {

/// A system that refuses things, made of this one by seccomp.
struct Refusal {
  bool memfd = false;             ///< memfd_create fails.
  bool executable_pages = false;  ///< mmap and mprotect fail when asked for executable pages.
};

/// Refuses from here on, for as long as the process lives. False if the system has no seccomp.
[[nodiscard]] bool refuse(const Refusal& refusal);

/// What `run_refused` returns in that case.
inline constexpr int cannot_refuse = 77;

/// `run_in_child` under `refusal`.
[[nodiscard]] int run_refused(const Refusal& refusal, const std::function<bool()>& body);

}  // namespace gradjit::test
