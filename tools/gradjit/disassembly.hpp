#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <Zydis/Zydis.h>

#include "jit/emit.hpp"

namespace gradjit::tool {

enum class Syntax : std::uint8_t { intel, att };

/// A constant beside the code: where the instruction that reads it says that one starts.
struct ConstantLabel {
  std::string name;
  std::uint16_t element_bits = 32;  ///< 64 when it is read as such.
};

/// An instruction with its operands.
struct Instruction {
  std::size_t offset = 0;
  ZydisDecodedInstruction decoded{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> all_operands{};

  /// Those that a listing shows.
  [[nodiscard]] std::span<const ZydisDecodedOperand> operands() const {
    return {all_operands.data(), decoded.operand_count_visible};
  }
};

/// The names of a listing: L1, L2, … for what is jumped to, c1, c2, … for the constants. The numbers go on
/// from one kernel to the next, so that several can stand in one file.
struct LabelNumbers {
  int jump = 0;
  int constant = 0;
};

/// The instructions of a kernel, with names for the places that they refer to.
class Disassembly {
 public:
  /// Throws `BadInput` when there is something among the instructions that is none.
  Disassembly(const jit::EmittedKernel& kernel, LabelNumbers& numbers);

  [[nodiscard]] const std::vector<Instruction>& instructions() const { return instructions_; }
  /// By offset.
  [[nodiscard]] const std::map<std::size_t, std::string>& jump_labels() const { return jump_labels_; }
  [[nodiscard]] const std::map<std::size_t, ConstantLabel>& constant_labels() const {
    return constant_labels_;
  }

  /// The instruction in words, with labels for addresses.
  [[nodiscard]] std::string text(const Instruction& instruction, Syntax syntax) const;
  /// What `text` would not tell: "c1 = 1.442695", or nothing.
  [[nodiscard]] std::string comment(const Instruction& instruction) const;

 private:
  void decode();
  void name_places(LabelNumbers& numbers);
  [[nodiscard]] std::string describe_constant(const ZydisDecodedOperand& operand, std::size_t offset) const;

  const jit::EmittedKernel& kernel_;
  std::vector<Instruction> instructions_;
  std::map<std::size_t, std::string> jump_labels_;
  std::map<std::size_t, ConstantLabel> constant_labels_;
};

/// The value of the 32- or 64-bit word at `bytes`: as a float, or in hexadecimal where it is no number that
/// anyone would write as one (masks, small integers).
[[nodiscard]] std::string describe_word(const std::uint8_t* bytes, std::uint16_t bits);

}  // namespace gradjit::tool
