#include "src/profiling/perf_writers.hpp"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <string>
#include <system_error>
#include <vector>

namespace gradjit::detail {
namespace {

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 16> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return {digits.data(), end};
}

std::uint64_t address_of(std::span<const std::uint8_t> code) {
  return reinterpret_cast<std::uintptr_t>(code.data());
}

// perf is told by -k mono to stamp its samples by the same clock.
std::uint64_t timestamp() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

struct JitDumpHeader {
  std::uint32_t magic = 0x4a695444;  // "JiTD", in the byte order of the machine.
  std::uint32_t version = 1;
  std::uint32_t total_size = sizeof(JitDumpHeader);
  std::uint32_t elf_machine = EM_X86_64;
  std::uint32_t padding = 0;
  std::uint32_t pid = 0;
  std::uint64_t timestamp = 0;
  std::uint64_t flags = 0;
};
static_assert(sizeof(JitDumpHeader) == 40);

struct CodeLoadRecord {
  std::uint32_t id = 0;  // JIT_CODE_LOAD
  std::uint32_t total_size = 0;
  std::uint64_t timestamp = 0;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint64_t virtual_address = 0;
  std::uint64_t code_address = 0;
  std::uint64_t code_size = 0;
  std::uint64_t code_index = 0;
};
static_assert(sizeof(CodeLoadRecord) == 56);

void append(std::vector<std::byte>& record, std::span<const std::byte> bytes) {
  record.insert(record.end(), bytes.begin(), bytes.end());
}

}  // namespace

PerfMapWriter::PerfMapWriter(const std::filesystem::path& path) : file_(path, OutputFile::Start::as_it_is) {}

void PerfMapWriter::write(std::string_view name, std::span<const std::uint8_t> code) {
  std::string line = hexadecimal(address_of(code)) + ' ' + hexadecimal(code.size()) + ' ';
  line += name;
  line += '\n';
  file_.append(std::as_bytes(std::span(line)));
}

JitDumpWriter::JitDumpWriter(const std::filesystem::path& path)
    : file_(path, OutputFile::Start::emptied), marker_size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
  JitDumpHeader header;
  header.pid = static_cast<std::uint32_t>(getpid());
  header.timestamp = timestamp();
  file_.append(std::as_bytes(std::span(&header, 1)));
  // perf records executable mappings and learns of the file by this one. Nothing is executed there.
  marker_ = mmap(nullptr, marker_size_, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_.descriptor(), 0);
  if (marker_ == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "cannot map " + path.string());
  }
}

JitDumpWriter::~JitDumpWriter() { munmap(marker_, marker_size_); }

void JitDumpWriter::write(std::string_view name, std::span<const std::uint8_t> code) {
  CodeLoadRecord load;
  load.total_size = static_cast<std::uint32_t>(sizeof load + name.size() + 1 + code.size());
  load.timestamp = timestamp();
  load.pid = static_cast<std::uint32_t>(getpid());
  load.tid = static_cast<std::uint32_t>(gettid());
  load.virtual_address = address_of(code);
  load.code_address = address_of(code);
  load.code_size = code.size();
  load.code_index = next_index_++;

  std::vector<std::byte> record;
  record.reserve(load.total_size);
  append(record, std::as_bytes(std::span(&load, 1)));
  append(record, std::as_bytes(std::span(name)));
  record.push_back(std::byte{0});
  append(record, std::as_bytes(code));
  file_.append(record);
}

}  // namespace gradjit::detail
