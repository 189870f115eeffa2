#include "bench/child_process.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "bench/measured_disk.hpp"
#include "support/spawn.hpp"

namespace ackbox::bench {
ChildProcess::ChildProcess(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), {"ackbox_bench", "--sync-delay-us", std::to_string(syncDelay().count())});
  const testing::Spawned spawned = testing::spawn("/proc/self/exe", std::move(words));
  pid_ = spawned.id;
  input_ = fdopen(spawned.input, "w");
  output_ = fdopen(spawned.output, "r");
}

ChildProcess::~ChildProcess() {
  closeInput();
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::fclose(output_);
}

std::string ChildProcess::readLine() {
  char* line = nullptr;
  std::size_t capacity = 0;
  const ssize_t length = getline(&line, &capacity, output_);
  const std::string text = length > 0 ? std::string(line, static_cast<std::size_t>(length) - 1) : std::string();
  std::free(line);
  if (length <= 0) {
    throw std::runtime_error("the other process ended too early");
  }
  return text;
}

void ChildProcess::writeLine(const std::string& line) {
  std::fputs((line + "\n").c_str(), input_);
  std::fflush(input_);
}

void ChildProcess::finish() {
  closeInput();
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error("the other process failed");
  }
}

void ChildProcess::closeInput() noexcept {
  if (input_ != nullptr) {
    std::fclose(input_);
    input_ = nullptr;
  }
}

}  // namespace ackbox::bench
