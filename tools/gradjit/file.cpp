#include "tools/gradjit/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>

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
        path_((std::filesystem::path(destination_).parent_path() / ".gradjit.XXXXXX").string()),
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

  /// With the mode, and where that is allowed the owner, of what was there.
  void take_place_of(const struct stat& status) {
    if (::fchown(descriptor_, status.st_uid, status.st_gid) != 0) errno = 0;
    take_place(status.st_mode & 07777);
  }

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

/// The open file that a name stands for. Opened anew, it would be written from its start on, whatever else it
/// got by redirection.
std::optional<int> descriptor_of(std::string_view name) {
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view directory : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(directory)) continue;
    const std::string_view number = name.substr(directory.size());
    int descriptor = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), descriptor);
    if (error == std::errc{} && end == number.data() + number.size()) return descriptor;
  }
  return std::nullopt;
}

/// Where a symbolic link leads, whether there is a file or not.
std::filesystem::path destination_of(std::filesystem::path path) {
  constexpr int most_links = 40;  // as Linux has it
  std::error_code ignored;
  for (int links = 0; std::filesystem::is_symlink(path, ignored); ++links) {
    if (links == most_links) {
      errno = ELOOP;
      fail(path.string(), "cannot write");
    }
    path = path.parent_path() / std::filesystem::read_symlink(path);
  }
  return path;
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
  if (const std::optional<int> descriptor = descriptor_of(path.string())) {
    std::fflush(nullptr);  // what was printed comes first
    write_all(*descriptor, path.string(), bytes);
    return;
  }
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    write_directly(path.string(), bytes);
    return;
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) fail(path.string(), "cannot write");
  TemporaryFile file(destination_of(path).string());
  file.write(bytes);
  exists ? file.take_place_of(status) : file.take_place(mode_of_new_files());
}

void expect_writable(const std::filesystem::path& path) {
  if (path.empty()) throw BadInput("the name of the output file is empty");
  if (descriptor_of(path.string())) return;
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) errno = EISDIR;
  if (exists && (S_ISDIR(status.st_mode) || ::access(path.c_str(), W_OK) != 0)) {
    fail(path.string(), "cannot write");
  }
  if (!exists || S_ISREG(status.st_mode)) {
    const TemporaryFile trial(destination_of(path).string());
  }
}

}  // namespace gradjit::tool
