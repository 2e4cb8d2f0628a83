#include "jit/core/assembler.hpp"

#include <algorithm>
#include <numeric>

namespace gradjit::jit {

namespace {

using Xbyak::Operand;

/// No kernel comes near; Xbyak throws when one does.
constexpr std::size_t buffer_size = 64 * 1024;

/// Registers that a function may change, by the System V convention, but for rdi, which holds the
/// arguments.
constexpr std::array scratch_registers{Operand::RAX, Operand::RCX, Operand::RDX, Operand::RSI,
                                       Operand::R8,  Operand::R9,  Operand::R10, Operand::R11};
constexpr std::array callee_registers{Operand::RBX, Operand::RBP, Operand::R12,
                                      Operand::R13, Operand::R14, Operand::R15};

std::vector<int> numbers(int from, int to) {
  std::vector<int> result(static_cast<std::size_t>(to - from));
  std::iota(result.begin(), result.end(), from);
  return result;
}

}  // namespace

Assembler::Assembler() : Assembler(std::make_unique_for_overwrite<std::uint8_t[]>(buffer_size)) {}

Assembler::Assembler(std::unique_ptr<std::uint8_t[]> buffer)
    : CodeGenerator(buffer_size, buffer.get()),
      buffer_(std::move(buffer)),
      general_pool_("general purpose", {scratch_registers.begin(), scratch_registers.end()}),
      vector_pool_("vector", numbers(0, 16)),
      opmask_pool_("opmask", numbers(1, 8)) {
  setDefaultJmpNEAR(true);
}

void Assembler::mark(std::string text) { marks_.push_back({getSize(), std::move(text)}); }

void Assembler::begin_main_loop(std::string text, int vectors) {
  main_loops_.push_back({.begin = getSize(), .text = std::move(text), .vectors = vectors});
}

void Assembler::end_main_loop() { main_loops_.back().end = getSize(); }

void Assembler::add_upper_vector_registers() {
  for (int index = 16; index < 32; ++index) {
    vector_pool_.add(index);
  }
}

void Assembler::enter(int saved_registers) {
  mark("entry");
  endbr64();
  for (int i = 0; i < saved_registers; ++i) {
    const Xbyak::Reg64 reg(callee_registers.at(static_cast<std::size_t>(i)));
    push(reg);
    saved_.push_back(reg);
    general_pool_.add(reg.getIdx());
  }
}

void Assembler::leave() {
  mark("return");
  for (auto reg = saved_.rbegin(); reg != saved_.rend(); ++reg) {
    pop(*reg);
  }
  vzeroupper();
  ret();
}

General Assembler::argument(std::size_t offset, const char* holds) {
  General result = general(holds);
  mov(r64(result), qword[args() + static_cast<int>(offset)]);
  return result;
}

const Xbyak::Label& Assembler::constant(std::span<const std::uint32_t> words) {
  for (const Constant& known : constants_) {
    if (std::ranges::equal(known.words, words)) {
      return known.label;
    }
  }
  constants_.emplace_back().words.assign(words.begin(), words.end());
  return constants_.back().label;
}

void Assembler::emit_later() {
  for (std::size_t i = 0; i < later_.size(); ++i) {  // by index: one may add another
    later_[i]();
  }
  later_.clear();
}

EmittedKernel Assembler::finish() {
  EmittedKernel kernel;
  kernel.code_size = getSize();
  std::vector<Constant*> by_size;
  for (Constant& constant : constants_) {
    by_size.push_back(&constant);
  }
  // The largest first: each is then aligned to its own size.
  std::ranges::stable_sort(by_size, std::ranges::greater(),
                           [](const Constant* constant) { return constant->words.size(); });
  if (!by_size.empty()) {
    while (getSize() % 64 != 0) {
      db(0xCC);
    }
  }
  for (Constant* constant : by_size) {
    L(constant->label);
    for (const std::uint32_t bits : constant->words) {
      dd(bits);
    }
  }
  kernel.bytes.assign(getCode(), getCode() + getSize());
  kernel.marks = std::move(marks_);
  kernel.main_loops = std::move(main_loops_);
  return kernel;
}

}  // namespace gradjit::jit
