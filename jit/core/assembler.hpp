#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xbyak/xbyak.h>

#include "jit/core/registers.hpp"
#include "jit/emit.hpp"

namespace gradjit::jit {

/// Writes instructions into plain memory of its own, and adds to Xbyak what every emitter here needs:
/// register pools, a constant pool, marks for the listing, code kept out of the way of loops.
class Assembler : public Xbyak::CodeGenerator {
 public:
  Assembler();

  /// Starts a section of the listing.
  void mark(std::string text);

  /// What comes until `end_main_loop` is a main loop of the kernel.
  void begin_main_loop(std::string text, int vectors);
  void end_main_loop();

  /// A general purpose register; `saved_registers` more are there after `enter`.
  [[nodiscard]] General general(const char* holds) { return {general_pool_, holds}; }
  [[nodiscard]] static Xbyak::Reg64 r64(const General& reg) { return Xbyak::Reg64(reg.index()); }
  [[nodiscard]] static Xbyak::Reg32 r32(const General& reg) { return Xbyak::Reg32(reg.index()); }
  [[nodiscard]] RegisterPool& vector_pool() noexcept { return vector_pool_; }
  [[nodiscard]] RegisterPool& opmask_pool() noexcept { return opmask_pool_; }
  /// AVX-512 has sixteen vector registers more.
  void add_upper_vector_registers();

  /// The kernel's entry: `endbr64`, and saves `saved_registers` of the callee's registers for the pool.
  void enter(int saved_registers);
  /// Its end: restores them, `vzeroupper`, `ret`.
  void leave();
  /// The register that holds the `const KernelArgs*`.
  [[nodiscard]] static Xbyak::Reg64 args() { return Xbyak::Reg64(Xbyak::Operand::RDI); }
  /// Loads the 64-bit member of KernelArgs at `offset` into a register of that name.
  [[nodiscard]] General argument(std::size_t offset, const char* holds);

  /// The label of a constant of these 32-bit words, aligned to its size; equal ones are stored once.
  [[nodiscard]] const Xbyak::Label& constant(std::span<const std::uint32_t> words);

  /// Emits `code` after the kernel's end: what loops rarely need. It runs when `finish` is called, so
  /// what it captures and the registers that it relies on must live until then.
  void later(std::function<void()> code) { later_.push_back(std::move(code)); }
  /// Emits what came by `later`.
  void emit_later();

  /// Emits the constants and resolves the labels. Nothing can be added after that.
  [[nodiscard]] EmittedKernel finish();

 private:
  struct Constant {
    std::vector<std::uint32_t> words;
    Xbyak::Label label;
  };

  explicit Assembler(std::unique_ptr<std::uint8_t[]> buffer);

  std::unique_ptr<std::uint8_t[]> buffer_;
  RegisterPool general_pool_;
  RegisterPool vector_pool_;
  RegisterPool opmask_pool_;
  std::vector<Xbyak::Reg64> saved_;
  std::deque<Constant> constants_;  // a deque: labels must not move
  std::vector<std::function<void()>> later_;
  std::vector<Mark> marks_;
  std::vector<MainLoop> main_loops_;
};

}  // namespace gradjit::jit
