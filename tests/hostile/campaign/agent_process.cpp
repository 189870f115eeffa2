#include "hostile/campaign/agent_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <utility>

#include "bench/rest.hpp"
#include "hostile/campaign/line.hpp"
#include "support/spawn.hpp"

namespace ackbox::campaign {
namespace {

std::string describe(int status) {
  return WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status))
                           : "signal " + std::to_string(WTERMSIG(status));
}

}  // namespace

AgentProcess::AgentProcess(const std::vector<std::string>& command, Errors errors) {
  const testing::Spawned spawned = testing::spawn(command.front().c_str(), command, [errors] {
    // As a program that was started by hand; this one ignores it.
    signal(SIGPIPE, SIG_DFL);
    if (errors == Errors::dropped) {
      dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    }
  });
  pid_ = spawned.id;
  input_ = spawned.input;
  output_ = spawned.output;
}

AgentProcess::~AgentProcess() {
  if (ending_.empty()) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (input_ >= 0) {
    ::close(input_);
  }
  ::close(output_);
}

std::optional<std::string> AgentProcess::ask(const std::string& command, std::chrono::milliseconds patience) {
  const Instant deadline = in(patience);
  const std::string line = command + "\n";
  if (!ending().empty() || ::write(input_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return std::nullopt;
  }
  std::array<char, 4096> piece{};
  while (kept_.find('\n') == std::string::npos) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waited{.fd = output_, .events = POLLIN, .revents = 0};
    if (::poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) != 1) {
      return std::nullopt;
    }
    const ssize_t got = ::read(output_, piece.data(), piece.size());
    if (got <= 0) {
      return std::nullopt;
    }
    kept_.append(piece.data(), static_cast<std::size_t>(got));
  }
  const std::size_t end = kept_.find('\n');
  std::string answer = kept_.substr(0, end);
  kept_.erase(0, end + 1);
  return answer;
}

std::string AgentProcess::ending() {
  int status = 0;
  if (ending_.empty() && waitpid(pid_, &status, WNOHANG) == pid_) {
    ending_ = describe(status);
  }
  return ending_;
}

bool AgentProcess::finish(std::chrono::milliseconds patience) {
  ::close(std::exchange(input_, -1));
  return awaitEnd(patience);
}

bool AgentProcess::awaitEnd(std::chrono::milliseconds patience) {
  for (const Instant deadline = in(patience); ending().empty() && std::chrono::steady_clock::now() < deadline;) {
    bench::rest(std::chrono::milliseconds(20));
  }
  return !ending_.empty();
}

Taken AgentProcess::taken() const {
  const std::string folder = "/proc/" + std::to_string(pid_) + "/";
  Taken taken;
  std::ifstream status(folder + "status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") {
      std::uint64_t kibibytes = 0;
      status >> kibibytes;
      taken.memoryMiB = kibibytes / 1024;
    }
  }
  std::error_code gone;
  const std::filesystem::directory_iterator open(folder + "fd", gone);
  taken.descriptors = gone ? 0 : static_cast<std::uint64_t>(std::distance(open, {}));
  // Behind the name, which may have blanks, the 12th and 13th word are what it took itself and in the kernel.
  std::ifstream stat(folder + "stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  std::istringstream words(text.substr(std::min(text.find(") ") + 2, text.size())));
  std::string skipped;
  for (int word = 0; word < 11; ++word) {
    words >> skipped;
  }
  double user = 0;
  double kernel = 0;
  words >> user >> kernel;
  taken.processorSeconds = (user + kernel) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return taken;
}

}  // namespace ackbox::campaign
