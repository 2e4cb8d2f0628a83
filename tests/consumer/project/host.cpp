// Loads the module, runs it in parallel, then in a forked child, and unloads it. Both are what libgomp fails
// at after a parallel run: a child has none of the threads that it counts on, and unloading takes its code
// away from threads that still run there.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

int load_and_run(const char* path) {
  void* module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto run = reinterpret_cast<int (*)()>(dlsym(module, "run_in_parallel"));
  if (run == nullptr || run() != 0) {
    std::fprintf(stderr, "the run failed\n");
    return 1;
  }

  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(run());
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) {
    std::fprintf(stderr, "the run in a forked child ended with status %#x\n", static_cast<unsigned>(status));
    return 1;
  }

  dlclose(module);
  // This thread takes no SIGCHLD while it is in system(), so the signal wakes one that libgomp left asleep.
  return std::system("true");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (int round = 0; round < 3; ++round) {
    if (const int status = load_and_run(argv[1]); status != 0) return status;
  }
  return 0;
}
