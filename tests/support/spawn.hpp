#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ackbox::testing {

/// Another process, and our ends of the pipes to its standard input and from its standard output.
struct Spawned {
  pid_t id = -1;
  int input = -1;
  int output = -1;
};

/// Starts `program`; `words` begins with its name. What `prepare` does happens in the new process. Throws
/// `std::runtime_error`.
[[nodiscard]] inline Spawned spawn(const char* program, std::vector<std::string> words,
                                   const std::function<void()>& prepare = {}) {
  std::array<int, 2> down{};
  std::array<int, 2> up{};
  if (pipe2(down.data(), O_CLOEXEC) != 0 || pipe2(up.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make a pipe");
  }
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  const pid_t id = fork();
  if (id == 0) {
    dup2(down[0], STDIN_FILENO);
    dup2(up[1], STDOUT_FILENO);
    if (prepare) {
      prepare();
    }
    execv(program, arguments.data());
    _exit(127);
  }
  close(down[0]);
  close(up[1]);
  if (id < 0) {
    close(down[1]);
    close(up[0]);
    throw std::runtime_error("cannot start a process");
  }
  return {id, down[1], up[0]};
}

}  // namespace ackbox::testing
