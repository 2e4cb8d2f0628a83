#include "tests/support/refusal.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "tests/support/child_process.hpp"

namespace gradjit::test {

bool refuse(const Refusal& refusal) {
  constexpr unsigned protection = offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t);
  constexpr unsigned deny = SECCOMP_RET_ERRNO | 1U;  // EPERM
  const unsigned memfd = refusal.memfd ? deny : SECCOMP_RET_ALLOW;
  const unsigned executable = refusal.executable_pages ? deny : SECCOMP_RET_ALLOW;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, protection),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 2),
      BPF_STMT(BPF_RET | BPF_K, executable),
      BPF_STMT(BPF_RET | BPF_K, memfd),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  if (const char* const preloaded = std::getenv("LD_PRELOAD");
      preloaded != nullptr && std::strstr(preloaded, "valgrind") != nullptr) {
    return false;  // It needs such pages itself.
  }
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int run_refused(const Refusal& refusal, const std::function<bool()>& body) {
  return run_in_child([&refusal, &body] {
    if (!refuse(refusal)) {
      _exit(cannot_refuse);
    }
    return body();
  });
}

}  // namespace gradjit::test
