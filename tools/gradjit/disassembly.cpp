#include "tools/gradjit/disassembly.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "tools/gradjit/command.hpp"

namespace gradjit::tool {
namespace {

/// The place that an operand refers to relative to the instruction, if it does.
std::optional<std::size_t> target_of(const Instruction& instruction, const ZydisDecodedOperand& operand) {
  const bool is_jump = operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand.imm.is_relative;
  const bool is_data = operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_RIP;
  ZyanU64 address = 0;
  if (!is_jump && !is_data) return std::nullopt;
  if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction.decoded, &operand, instruction.offset, &address))) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(address);
}

ZyanStatus append(ZydisFormatterBuffer* buffer, const std::string& text) {
  ZYAN_CHECK(ZydisFormatterBufferAppend(buffer, ZYDIS_TOKEN_SYMBOL));
  ZyanString* string = nullptr;
  ZYAN_CHECK(ZydisFormatterBufferGetString(buffer, &string));
  ZyanStringView view;
  ZYAN_CHECK(ZyanStringViewInsideBufferEx(&view, text.data(), text.size()));
  return ZyanStringAppend(string, &view);
}

/// Zydis calls this for every address. Its user data is the disassembly.
ZyanStatus print_label(const ZydisFormatter* formatter, ZydisFormatterBuffer* buffer,
                       ZydisFormatterContext* context) {
  const auto& disassembly = *static_cast<const Disassembly*>(context->user_data);
  ZyanU64 address = 0;
  ZYAN_CHECK(
      ZydisCalcAbsoluteAddress(context->instruction, context->operand, context->runtime_address, &address));
  const auto offset = static_cast<std::size_t>(address);
  if (context->operand->type != ZYDIS_OPERAND_TYPE_MEMORY) {
    const auto label = disassembly.jump_labels().find(offset);
    const bool known = label != disassembly.jump_labels().end();
    return append(buffer, known ? label->second : fmt::format("{:#x}", offset));
  }
  const auto label = disassembly.constant_labels().find(offset);
  const bool known = label != disassembly.constant_labels().end();
  const std::string name = known ? label->second.name : fmt::format("{:#x}", offset);
  const bool is_att = formatter->style == ZYDIS_FORMATTER_STYLE_ATT;
  return append(buffer, is_att ? name + "(%rip)" : "rip + " + name);
}

/// Zydis gives vector instructions the suffixes of AT&T's integer instructions, which no assembler knows.
ZyanStatus print_plain_mnemonic(const ZydisFormatter* /*formatter*/, ZydisFormatterBuffer* buffer,
                                ZydisFormatterContext* context) {
  return append(buffer, ZydisMnemonicGetString(context->instruction->mnemonic));
}

/// Zydis leaves out the size of the operand where it is the only one (dec, mul, ...) and needed.
bool needs_size(const Instruction& instruction) {
  const auto operands = instruction.operands();
  return operands.size() == 1 && operands.front().type == ZYDIS_OPERAND_TYPE_MEMORY &&
         instruction.decoded.meta.category != ZYDIS_CATEGORY_PREFETCH;
}

ZydisFormatter make_formatter(Syntax syntax, const Instruction& instruction) {
  ZydisFormatter formatter;
  const bool is_att = syntax == Syntax::att;
  const bool is_vector = instruction.decoded.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;
  const auto set_hook = [&](ZydisFormatterFunction place, ZydisFormatterFunc function) {
    const void* hook = reinterpret_cast<const void*>(function);
    return ZYAN_SUCCESS(ZydisFormatterSetHook(&formatter, place, &hook));
  };
  const auto set = [&](ZydisFormatterProperty property, ZyanUPointer value) {
    return ZYAN_SUCCESS(ZydisFormatterSetProperty(&formatter, property, value));
  };
  const auto style = is_att ? ZYDIS_FORMATTER_STYLE_ATT : ZYDIS_FORMATTER_STYLE_INTEL;
  const auto no_padding = static_cast<ZyanUPointer>(ZYDIS_PADDING_DISABLED);
  const bool good =
      ZYAN_SUCCESS(ZydisFormatterInit(&formatter, style)) &&
      set(ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE) &&
      set(ZYDIS_FORMATTER_PROP_DISP_PADDING, no_padding) &&
      set(ZYDIS_FORMATTER_PROP_IMM_PADDING, no_padding) &&
      set(ZYDIS_FORMATTER_PROP_FORCE_SIZE, needs_size(instruction) ? ZYAN_TRUE : ZYAN_FALSE) &&
      set_hook(ZYDIS_FORMATTER_FUNC_PRINT_ADDRESS_ABS, &print_label) &&
      (!is_att || !is_vector || set_hook(ZYDIS_FORMATTER_FUNC_PRINT_MNEMONIC, &print_plain_mnemonic));
  if (!good) throw BadInput("the disassembler cannot be set up");
  return formatter;
}

}  // namespace

Disassembly::Disassembly(const jit::EmittedKernel& kernel, LabelNumbers& numbers) : kernel_(kernel) {
  decode();
  name_places(numbers);
}

void Disassembly::decode() {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  for (std::size_t offset = 0; offset < kernel_.code_size;) {
    Instruction instruction{.offset = offset};
    const ZyanStatus status =
        ZydisDecoderDecodeFull(&decoder, kernel_.bytes.data() + offset, kernel_.code_size - offset,
                               &instruction.decoded, instruction.all_operands.data());
    if (!ZYAN_SUCCESS(status))
      throw BadInput(fmt::format("the code has no valid instruction at offset {:#x}", offset));
    offset += instruction.decoded.length;
    instructions_.push_back(instruction);
  }
}

void Disassembly::name_places(LabelNumbers& numbers) {
  for (const Instruction& instruction : instructions_) {
    for (const ZydisDecodedOperand& operand : instruction.operands()) {
      const std::optional<std::size_t> target = target_of(instruction, operand);
      if (!target) continue;
      if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) {
        jump_labels_.try_emplace(*target);
      } else if (*target < kernel_.bytes.size()) {
        ConstantLabel& label = constant_labels_[*target];
        if (operand.element_size == 64) label.element_bits = 64;
      }
    }
  }
  for (auto& [offset, name] : jump_labels_) name = fmt::format("L{}", ++numbers.jump);
  for (auto& [offset, label] : constant_labels_) label.name = fmt::format("c{}", ++numbers.constant);
}

std::string Disassembly::text(const Instruction& instruction, Syntax syntax) const {
  const ZydisFormatter formatter = make_formatter(syntax, instruction);
  std::array<char, 256> buffer{};
  const ZyanStatus status =
      ZydisFormatterFormatInstruction(&formatter, &instruction.decoded, instruction.operands().data(),
                                      instruction.decoded.operand_count_visible, buffer.data(), buffer.size(),
                                      instruction.offset, const_cast<Disassembly*>(this));
  if (!ZYAN_SUCCESS(status)) {
    throw BadInput(fmt::format("the instruction at offset {:#x} cannot be printed", instruction.offset));
  }
  return buffer.data();
}

std::string Disassembly::comment(const Instruction& instruction) const {
  std::string text;
  for (const ZydisDecodedOperand& operand : instruction.operands()) {
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    const std::optional<std::size_t> target = target_of(instruction, operand);
    if (target && constant_labels_.contains(*target)) text += describe_constant(operand, *target);
  }
  return text;
}

/// All elements that the operand reads; once when they are the same, and not more than four.
std::string Disassembly::describe_constant(const ZydisDecodedOperand& operand, std::size_t offset) const {
  constexpr std::size_t most_shown = 4;
  const ConstantLabel& label = constant_labels_.at(offset);
  const std::size_t step = label.element_bits / 8U;
  const std::size_t end =
      std::min(kernel_.bytes.size(), offset + std::max<std::size_t>(operand.size / 8U, step));
  std::vector<std::string> values;
  for (std::size_t i = offset; i + step <= end; i += step) {
    values.push_back(describe_word(kernel_.bytes.data() + i, label.element_bits));
  }
  if (values.empty()) return {};
  std::string text = label.name + " = " + values.front();
  if (std::all_of(values.begin(), values.end(), [&](const auto& value) { return value == values.front(); })) {
    return text;
  }
  for (std::size_t i = 1; i < std::min(values.size(), most_shown); ++i) text += ", " + values[i];
  return text + (values.size() > most_shown ? ", ..." : "");
}

std::string describe_word(const std::uint8_t* bytes, std::uint16_t bits) {
  if (bits == 64) {
    double value = 0;
    std::memcpy(&value, bytes, sizeof(value));
    return fmt::format("{}", value);
  }
  std::uint32_t word = 0;
  float value = 0;
  std::memcpy(&word, bytes, sizeof(word));
  std::memcpy(&value, bytes, sizeof(value));
  const bool is_float = std::isnormal(value) || std::isinf(value) || word == 0 || word == 0x80000000;
  return is_float ? fmt::format("{}", value) : fmt::format("{:#x}", word);
}

}  // namespace gradjit::tool
