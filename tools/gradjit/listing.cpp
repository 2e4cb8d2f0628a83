#include "tools/gradjit/listing.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

constexpr std::size_t code_alignment = 64;
constexpr std::uint8_t padding = 0xcc;

using ByteSpan = std::span<const std::uint8_t>;

std::string format_bytes(ByteSpan bytes, std::string_view prefix, std::string_view separator) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += fmt::format("{}{}{:02x}", text.empty() ? "" : separator, prefix, byte);
  }
  return text;
}

/// Where GNU as would choose another encoding of the same instruction than the emitter did, it is told.
std::string encoding_hint(const Instruction& instruction) {
  const ZydisDecodedInstruction& decoded = instruction.decoded;
  const bool is_near_jump = decoded.raw.imm[0].is_relative != 0 && decoded.raw.imm[0].size == 32;
  // There is no other form of call.
  if (is_near_jump && decoded.mnemonic != ZYDIS_MNEMONIC_CALL) return "{disp32} ";
  // Of moves between registers there are two encodings, and one may be shorter.
  const bool is_long_move = decoded.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX && decoded.raw.vex.size == 3 &&
                            decoded.opcode_map == ZYDIS_OPCODE_MAP_0F && decoded.raw.modrm.mod == 3 &&
                            std::string_view(ZydisMnemonicGetString(decoded.mnemonic)).starts_with("vmov");
  return is_long_move ? "{vex3} " : "";
}

class ListingWriter {
 public:
  ListingWriter(const jit::EmittedKernel& kernel, ListingFormat format, bool with_bytes,
                LabelNumbers& numbers)
      : kernel_(kernel),
        bytes_(kernel.bytes),
        disassembly_(kernel, numbers),
        syntax_(format == ListingFormat::att ? Syntax::att : Syntax::intel),
        is_gas_(format == ListingFormat::gas),
        with_bytes_(with_bytes && !is_gas_),
        comment_sign_(format == ListingFormat::intel ? ";" : "#") {}

  std::string write(const jit::KernelSpec& spec) {
    const std::string name = name_of(spec);
    write_header(spec, name);
    if (is_gas_) {
      line(fmt::format("    .balign {}", code_alignment));
      line(fmt::format(R"(    .globl "{}")", name));
      line(fmt::format(R"(    .type "{}", @function)", name));
      line(fmt::format(R"("{}":)", name));
    }
    for (const Instruction& instruction : disassembly_.instructions()) write_instruction(instruction);
    write_marks(kernel_.code_size);
    write_constants();
    if (is_gas_) line(fmt::format(R"(    .size "{}", . - "{}")", name, name));
    return std::move(text_);
  }

 private:
  void line(std::string_view text) { (text_ += text) += '\n'; }
  void comment_line(std::string_view text) { line(fmt::format("{} {}", comment_sign_, text)); }

  void write_header(const jit::KernelSpec& spec, const std::string& name) {
    comment_line(name);
    comment_line(fmt::format("isa {}, dtype {}: {} bytes, {} of them instructions",
                             gradjit::name_of(spec.isa), gradjit::name_of(spec.dtype), bytes_.size(),
                             kernel_.code_size));
  }

  /// The marks up to `offset`.
  void write_marks(std::size_t offset) {
    for (; next_mark_ < kernel_.marks.size() && kernel_.marks[next_mark_].offset <= offset; ++next_mark_) {
      line(fmt::format("\n{} --- {} ---", comment_sign_, one_line(kernel_.marks[next_mark_].text)));
    }
  }

  /// As llvm-mca wants to know about them.
  void write_main_loops(std::size_t offset) {
    for (const jit::MainLoop& loop : kernel_.main_loops) {
      const std::string region = fmt::format("{} vectors: {}", loop.vectors, one_line(loop.text));
      if (loop.end == offset) line("# LLVM-MCA-END " + region);
      if (loop.begin == offset) line("# LLVM-MCA-BEGIN " + region);
    }
  }

  void write_instruction(const Instruction& instruction) {
    if (is_gas_) write_main_loops(instruction.offset);
    write_marks(instruction.offset);
    const auto label = disassembly_.jump_labels().find(instruction.offset);
    if (label != disassembly_.jump_labels().end()) line(label->second + ":");
    write_row(instruction.offset, instruction.decoded.length, words(instruction),
              disassembly_.comment(instruction));
  }

  [[nodiscard]] std::string words(const Instruction& instruction) const {
    const std::string text = disassembly_.text(instruction, syntax_);
    // as takes long nops for something else.
    if (is_gas_ && instruction.decoded.mnemonic == ZYDIS_MNEMONIC_NOP && instruction.decoded.length > 1) {
      const ByteSpan bytes = bytes_.subspan(instruction.offset, instruction.decoded.length);
      return fmt::format(".byte {} # {}", format_bytes(bytes, "0x", ","), text);
    }
    return is_gas_ ? encoding_hint(instruction) + text : text;
  }

  void write_row(std::size_t offset, std::size_t length, std::string_view words, std::string_view comment) {
    std::string row = is_gas_ ? "    " : fmt::format("{:6x}  ", offset);
    if (with_bytes_) row += fmt::format("{:<33}  ", format_bytes(bytes_.subspan(offset, length), "", " "));
    const std::size_t comment_column = row.size() + 52;
    row += words;
    if (!comment.empty()) {
      row.resize(std::max(row.size(), comment_column), ' ');
      row += fmt::format("  {} {}", comment_sign_, comment);
    }
    line(row);
  }

  void write_constants() {
    const auto& labels = disassembly_.constant_labels();
    const std::size_t first = labels.empty() ? bytes_.size() : labels.begin()->first;
    if (kernel_.code_size == bytes_.size()) return;
    line(fmt::format("\n{} --- constants in memory ---", comment_sign_));
    write_gap(kernel_.code_size, first);
    for (auto label = labels.begin(); label != labels.end(); ++label) {
      const auto next = std::next(label);
      line(label->second.name + ":");
      write_words(label->first, next == labels.end() ? bytes_.size() : next->first,
                  label->second.element_bits);
    }
  }

  /// What lies between the instructions and the first constant with a name: what aligns the constants, and
  /// constants that are read by an address in a register.
  void write_gap(std::size_t begin, std::size_t end) {
    const std::size_t aligned = (begin + code_alignment - 1) / code_alignment * code_alignment;
    const ByteSpan filler = bytes_.subspan(begin, std::min(aligned, end) - begin);
    const auto is_padding = [](std::uint8_t byte) { return byte == padding; };
    if (aligned <= end && !filler.empty() && std::all_of(filler.begin(), filler.end(), is_padding)) {
      write_row(begin, 0, fmt::format(".balign {}, {:#x}", code_alignment, padding), "");
      begin = aligned;
    }
    write_words(begin, end, 32);
  }

  /// As words of `bits`, four in a line, with their values.
  void write_words(std::size_t begin, std::size_t end, std::uint16_t bits) {
    const std::size_t size = bits / 8U;
    constexpr std::size_t words_per_line = 4;
    while (end - begin >= size) {
      const std::size_t count = std::min(words_per_line, (end - begin) / size);
      std::vector<std::string> words;
      std::vector<std::string> values;
      for (std::size_t i = 0; i < count; ++i) {
        words.push_back(hex_word(begin + i * size, size));
        values.push_back(describe_word(&bytes_[begin + i * size], bits));
      }
      if (std::equal(values.begin() + 1, values.end(), values.begin())) values.resize(1);
      write_row(begin, 0, fmt::format("{} {}", bits == 64 ? ".quad" : ".long", fmt::join(words, ", ")),
                fmt::format("{}", fmt::join(values, ", ")));
      begin += count * size;
    }
    if (begin != end) {
      write_row(begin, 0, ".byte " + format_bytes(bytes_.subspan(begin, end - begin), "0x", ","), "");
    }
  }

  [[nodiscard]] std::string hex_word(std::size_t offset, std::size_t size) const {
    std::uint64_t word = 0;
    for (std::size_t i = size; i-- > 0;) word = word << 8 | bytes_[offset + i];
    return fmt::format("{:#0{}x}", word, 2 + 2 * size);
  }

  const jit::EmittedKernel& kernel_;
  ByteSpan bytes_;
  Disassembly disassembly_;
  Syntax syntax_;
  bool is_gas_;
  bool with_bytes_;
  std::string_view comment_sign_;
  std::size_t next_mark_ = 0;
  std::string text_;
};

std::string format_hex(const jit::KernelSpec& spec, const jit::EmittedKernel& kernel) {
  constexpr std::size_t bytes_per_line = 16;
  std::string text = fmt::format("# {}\n# isa {}, dtype {}: {} bytes, {} of them instructions\n",
                                 name_of(spec), gradjit::name_of(spec.isa), gradjit::name_of(spec.dtype),
                                 kernel.bytes.size(), kernel.code_size);
  const ByteSpan bytes = kernel.bytes;
  for (std::size_t i = 0; i < bytes.size(); i += bytes_per_line) {
    const ByteSpan row = bytes.subspan(i, std::min(bytes_per_line, bytes.size() - i));
    text += fmt::format("{:06x}  {}\n", i, format_bytes(row, "", " "));
  }
  return text;
}

}  // namespace

std::string format_listing(const jit::KernelSpec& spec, const jit::EmittedKernel& kernel,
                           ListingFormat format, bool with_bytes, LabelNumbers& numbers) {
  if (format == ListingFormat::hex) return format_hex(spec, kernel);
  return ListingWriter(kernel, format, with_bytes, numbers).write(spec);
}

}  // namespace gradjit::tool
