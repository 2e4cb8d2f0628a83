#include "src/profiling/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace gradjit::detail {

OutputFile::OutputFile(const std::filesystem::path& path, Start start) {
  // No symbolic links: the names can be guessed, and /tmp is everybody's.
  const int flags =
      O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (start == Start::emptied ? O_TRUNC : 0);
  descriptor_ = open(path.c_str(), flags, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  if (descriptor_ < 0) {
    throw std::system_error(errno, std::generic_category(), "cannot open " + path.string());
  }
}

OutputFile::~OutputFile() { close(descriptor_); }

void OutputFile::append(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "cannot write profiling data");
    }
  }
}

}  // namespace gradjit::detail
