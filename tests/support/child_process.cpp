#include "tests/support/child_process.hpp"

#include <poll.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace gradjit::test {
namespace {

constexpr unsigned timeout_seconds = 30;

int result_of(const std::function<bool()>& body) {
  try {
    return body() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in the child: %s\n", error.what());
    return 2;
  }
}

}  // namespace

int start_child(const std::function<bool()>& body) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) {
    throw std::runtime_error("fork failed");
  }
  if (pid == 0) {
    alarm(timeout_seconds);
    _exit(result_of(body));
  }
  return pid;
}

int wait_for_child(int pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) {
      throw std::runtime_error("waitpid failed");
    }
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int run_in_child(const std::function<bool()>& body) { return wait_for_child(start_child(body)); }

Signal::Signal() : ends_{-1, -1} {
  if (pipe(ends_) != 0) {
    throw std::runtime_error("pipe failed");
  }
}

Signal::~Signal() {
  close(ends_[0]);
  close(ends_[1]);
}

void Signal::send() const {
  const char byte = 1;
  if (write(ends_[1], &byte, 1) != 1) {
    throw std::runtime_error("write failed");
  }
}

void Signal::wait() const {
  pollfd end{ends_[0], POLLIN, 0};
  if (poll(&end, 1, static_cast<int>(timeout_seconds) * 1000) != 1) {
    throw std::runtime_error("no signal came");
  }
  char byte = 0;
  if (read(ends_[0], &byte, 1) != 1) {
    throw std::runtime_error("read failed");
  }
}

}  // namespace gradjit::test
