#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <system_error>
#include <utility>

namespace main_job {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Between fork and exec only what is safe after a signal may be called: another thread may have held any lock.
[[noreturn]] void becomeProgram(const char* program, char* const* arguments, int output, const char* log,
                                pid_t parent) {
  constexpr int kCannotStart = 127;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || dup2(output, STDOUT_FILENO) < 0) {
    _exit(kCannotStart);
  }
  if (log != nullptr) {
    const int file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || dup2(file, STDERR_FILENO) < 0) {
      _exit(kCannotStart);
    }
  }
  execv(program, arguments);
  _exit(kCannotStart);
}

}  // namespace

Child::Child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
             const std::filesystem::path& log) {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), program.string());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);

  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail("cannot make a pipe");
  }
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    becomeProgram(program.c_str(), pointers.data(), ends[1], log.empty() ? nullptr : log.c_str(), parent);
  }
  close(ends[1]);
  output_ = ends[0];
  ended_ = process_ < 0;
  if (ended_) {
    close(output_);
    fail("cannot start " + program.string());
  }
}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      output_(std::exchange(other.output_, -1)),
      ended_(std::exchange(other.ended_, true)),
      status_(other.status_),
      unread_(std::move(other.unread_)) {}

Child& Child::operator=(Child&& other) noexcept {
  Child former(std::move(*this));
  process_ = std::exchange(other.process_, -1);
  output_ = std::exchange(other.output_, -1);
  ended_ = std::exchange(other.ended_, true);
  status_ = other.status_;
  unread_ = std::move(other.unread_);
  return *this;
}

Child::~Child() {
  kill();
  if (output_ >= 0) {
    close(output_);
  }
}

// True when something was read; false at the end of the output, which is the end of the process, or at the deadline.
bool Child::awaitOutput(std::chrono::steady_clock::time_point deadline) {
  pollfd waiting{output_, POLLIN, 0};
  for (;;) {
    const std::int64_t leftNanoseconds =
        std::max<std::int64_t>(std::chrono::nanoseconds(deadline - std::chrono::steady_clock::now()).count(), 0);
    constexpr std::int64_t kSecondNanoseconds = 1'000'000'000;
    const timespec left{leftNanoseconds / kSecondNanoseconds, leftNanoseconds % kSecondNanoseconds};
    const int ready = ppoll(&waiting, 1, &left, nullptr);
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    std::array<char, 4096> block{};
    const ssize_t length = ready > 0 ? read(output_, block.data(), block.size()) : 0;
    if (length <= 0) {
      return false;
    }
    unread_.append(block.data(), static_cast<std::size_t>(length));
    return true;
  }
}

std::optional<std::string> Child::readLine(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (!awaitOutput(deadline)) {
      return std::nullopt;
    }
  }
}

void Child::reap(int options) {
  int status = 0;
  pid_t reaped = -1;
  do {
    reaped = waitpid(process_, &status, options);
  } while (reaped < 0 && errno == EINTR);
  if (reaped == process_) {
    ended_ = true;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
}

bool Child::alive() {
  if (!ended_) {
    reap(WNOHANG);
  }
  return !ended_;
}

void Child::kill() {
  if (!ended_) {
    ::kill(process_, SIGKILL);
    reap(0);
  }
}

bool Child::endsWithin(std::chrono::microseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!ended_ && awaitOutput(deadline)) {
  }
  // Before the deadline, the output ended because the process did.
  if (!ended_) {
    reap(std::chrono::steady_clock::now() < deadline ? 0 : WNOHANG);
  }
  return ended_;
}

int Child::terminate(std::chrono::milliseconds patience) {
  if (!ended_) {
    ::kill(process_, SIGTERM);
    if (!endsWithin(patience)) {
      kill();
    }
  }
  return status_;
}

}  // namespace main_job
