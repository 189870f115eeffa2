#include "fatal_call.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "support/spawn.hpp"

namespace crash {
namespace {

std::vector<sock_filter> filterOf(const Calls& fatal, const Refusals& refused) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  const auto append = [&](long call, std::uint32_t answer) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, answer));
  };
  for (const long call : fatal) {
    append(call, SECCOMP_RET_TRACE);
  }
  for (const auto& [call, error] : refused) {
    append(call, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return filter;
}

// In the new process, which its parent has not seen yet.
void submitTo(std::vector<sock_filter>& filter) {
  dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0 || raise(SIGSTOP) != 0 ||
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(126);
  }
}

/// The signal that a process that was stopped with `status` has been sent, and is to have; 0 for what stops it
/// otherwise.
int signalOf(int status) {
  const int signal = WSTOPSIG(status);
  return status >> 16 != 0 || signal == SIGSTOP || signal == SIGTRAP ? 0 : signal;
}

}  // namespace

int runUntilCall(const std::vector<std::string>& words, const Calls& fatal, int count, const Refusals& refused) {
  std::vector<sock_filter> filter = filterOf(fatal, refused);
  const ackbox::testing::Spawned child =
      ackbox::testing::spawn(words.front().c_str(), words, [&] { submitTo(filter); });
  close(child.input);
  close(child.output);
  int status = 0;
  constexpr std::uintptr_t kOptions = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  if (waitpid(child.id, &status, 0) != child.id || !WIFSTOPPED(status) ||
      ptrace(PTRACE_SETOPTIONS, child.id, nullptr, kOptions) != 0 ||
      ptrace(PTRACE_CONT, child.id, nullptr, nullptr) != 0) {
    throw std::runtime_error("cannot trace a process");
  }
  for (;;) {
    // A process, or one of its threads.
    const pid_t stopped = waitpid(-1, &status, __WALL);
    if (stopped < 0) {
      throw std::runtime_error("a traced process was lost");
    }
    if (!WIFSTOPPED(status)) {
      if (stopped == child.id) {
        return status;
      }
    } else if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_SECCOMP << 8)) && --count == 0) {
      kill(child.id, SIGKILL);
    } else {
      // That it fails says that the process was killed meanwhile.
      ptrace(PTRACE_CONT, stopped, nullptr, static_cast<std::uintptr_t>(signalOf(status)));
    }
  }
}

}  // namespace crash
