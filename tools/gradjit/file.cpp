#include "tools/gradjit/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

[[noreturn]] void fail(const std::string& name, std::string_view what) {
  throw BadInput(fmt::format("{}: {}: {}", name, what, system_error()));
}

void write_all(int descriptor, const std::string& name, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(name, "cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

/// A file beside its destination that is removed again unless it took the destination's place.
class TemporaryFile {
 public:
  TemporaryFile(std::string destination)
      : destination_(std::move(destination)),
        path_(destination_ + ".XXXXXX"),
        descriptor_(::mkstemp(path_.data())) {
    if (descriptor_ < 0) fail(destination_, "cannot write");
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::byte> bytes) { write_all(descriptor_, destination_, bytes); }

  void take_place(mode_t mode) {
    if (::fchmod(descriptor_, mode) != 0) fail(destination_, "cannot write");
    // Some file systems report a full disk no earlier than here.
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) fail(destination_, "cannot write");
    if (::rename(path_.c_str(), destination_.c_str()) != 0) fail(destination_, "cannot write");
    path_.clear();
  }

 private:
  std::string destination_;
  std::string path_;
  int descriptor_;
};

void write_directly(const std::string& name, std::span<const std::byte> bytes) {
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail(name, "cannot write");
  try {
    write_all(descriptor, name, bytes);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  if (::close(descriptor) != 0) fail(name, "cannot write");
}

/// Whether a name stands for a file that is open already: it may have become a regular file by redirection,
/// whose place nothing should take.
bool names_descriptor(std::string_view name) {
  return name.starts_with("/dev/std") || name.starts_with("/dev/fd/") || name.starts_with("/proc/");
}

/// What a plain open() would give a new file. Reading the umask means setting it, which is harmless as no
/// other thread makes files.
mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path)
    : name_(path.string()), descriptor_(::open(name_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail(name_, "cannot open");
}

InputFile::~InputFile() { ::close(descriptor_); }

std::vector<std::byte> InputFile::read_up_to(std::size_t limit) {
  constexpr std::size_t chunk = std::size_t{16} << 20;
  std::vector<std::byte> bytes;
  std::size_t size = 0;
  while (size < limit) {
    if (size == bytes.size()) bytes.resize(size + std::min(chunk, limit - size));
    const ssize_t count = ::read(descriptor_, bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(name_, "cannot read");
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  bytes.resize(size);
  return bytes;
}

std::string read_text(const std::filesystem::path& path) {
  constexpr std::size_t limit = std::size_t{64} << 20;
  InputFile file(path);
  const std::vector<std::byte> bytes = file.read_up_to(limit + 1);
  if (bytes.size() > limit) throw BadInput(fmt::format("{}: larger than 64 MiB", path.string()));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  if (path.empty()) throw BadInput("the name of the output file is empty");
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && (!S_ISREG(status.st_mode) || names_descriptor(path.string()))) {
    write_directly(path.string(), bytes);
    return;
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) fail(path.string(), "cannot write");
  // The target of a symbolic link is replaced, not the link.
  std::error_code ignored;
  const std::filesystem::path destination = exists ? std::filesystem::canonical(path, ignored) : path;
  TemporaryFile file(destination.empty() ? path.string() : destination.string());
  file.write(bytes);
  file.take_place(exists ? status.st_mode & 07777 : mode_of_new_files());
}

void expect_writable(const std::filesystem::path& path) {
  if (path.empty()) throw BadInput("the name of the output file is empty");
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) errno = EISDIR;
    if (S_ISDIR(status.st_mode) || ::access(path.c_str(), W_OK) != 0) fail(path.string(), "cannot write");
    return;
  }
  const std::filesystem::path directory = path.has_parent_path() ? path.parent_path() : ".";
  if (::access(directory.c_str(), W_OK | X_OK) != 0) fail(path.string(), "cannot write");
}

}  // namespace gradjit::tool
