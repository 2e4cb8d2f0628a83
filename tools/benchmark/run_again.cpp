#include "tools/benchmark/run_again.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/file.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::bench {
namespace {

[[noreturn]] void fail(int error) {
  errno = error;
  throw tool::BadInput(fmt::format("cannot run the tool again: {}", tool::system_error()));
}

/// What another process writes, read here.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) fail(errno);
  }
  ~Pipe() {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int writing_end() const { return ends_[1]; }
  /// Until the other process ends.
  [[nodiscard]] std::string read() {
    // Nothing would ever end while this is open.
    ::close(std::exchange(ends_[1], -1));
    return tool::read_text(fmt::format("/proc/self/fd/{}", ends_[0]));
  }

 private:
  std::array<int, 2> ends_ = {};
};

/// Starts the program with `output` as its stdout.
pid_t start(std::vector<std::string> words, int output) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail(error);
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail(errno);
  }
  return status;
}

}  // namespace

std::string run_again(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"gradjit"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Pipe pipe;
  const pid_t child = start(std::move(words), pipe.writing_end());
  const std::string output = pipe.read();
  const int status = wait_for(child);
  if (WIFSIGNALED(status))
    throw tool::BadInput(fmt::format("the tool, run again, ended by signal {}", WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) {
    throw tool::BadInput(fmt::format("the tool, run again, ended with status {}", WEXITSTATUS(status)));
  }
  return output;
}

}  // namespace gradjit::bench
