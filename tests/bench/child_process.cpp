#include "bench/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

#include "bench/measured_disk.hpp"

namespace ackbox::bench {
namespace {

std::array<int, 2> makePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make a pipe");
  }
  return ends;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments) {
  const std::array<int, 2> down = makePipe();
  const std::array<int, 2> up = makePipe();
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), {"ackbox_bench", "--sync-delay-us", std::to_string(syncDelay().count())});
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(down[0], STDIN_FILENO);
    dup2(up[1], STDOUT_FILENO);
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  close(down[0]);
  close(up[1]);
  if (pid_ < 0) {
    close(down[1]);
    close(up[0]);
    throw std::runtime_error("cannot start a process");
  }
  input_ = fdopen(down[1], "w");
  output_ = fdopen(up[0], "r");
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
