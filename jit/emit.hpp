#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/kernel_spec.hpp"

namespace gradjit::jit {

/// A named place in the code: what the emitter says it is doing from `offset` on.
struct Mark {
  std::size_t offset = 0;
  std::string text;
};

/// A loop in which most of a kernel's time is spent, from its first instruction to after the jump back.
struct MainLoop {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;  ///< What it does.
  int vectors = 0;   ///< How many one iteration works on.
};

/// Position-independent machine code: instructions, then constants.
struct EmittedKernel {
  std::vector<std::uint8_t> bytes;
  std::size_t code_size = 0;  ///< Where the instructions end and the constants begin.
  std::vector<Mark> marks;    ///< In order of offset.
  std::vector<MainLoop> main_loops;
};

/// Generates the kernel that `spec` describes: a pure function, usable on any host for any ISA but
/// portable. The entry is at offset 0, takes one `const KernelArgs*` by the System V convention, and
/// needs `bytes` at a 64-byte aligned address. Throws `Error` (internal) for a spec that no operation
/// has, or when the emitter runs out of registers.
[[nodiscard]] EmittedKernel emit(const KernelSpec& spec);

}  // namespace gradjit::jit
