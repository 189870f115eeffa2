#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ackbox::campaign {

/// What a process took, at its worst moment.
struct Taken {
  std::uint64_t memoryMiB = 0;
  std::uint64_t descriptors = 0;
  double processorSeconds = 0;
};

/// Another process: commands go to its standard input, its answers are lines of its standard output. It is killed with
/// this object.
class AgentProcess {
public:
  /// What becomes of its standard error.
  enum class Errors : std::uint8_t { shown, dropped };

  /// Throws `std::runtime_error`.
  explicit AgentProcess(const std::vector<std::string>& command, Errors errors = Errors::shown);
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;
  ~AgentProcess();

  /// Its answer to a command; nothing when it has ended, or took longer than `patience`.
  std::optional<std::string> ask(const std::string& command,
                                 std::chrono::milliseconds patience = std::chrono::seconds(60));
  /// How it ended: `exit 1`, `signal 6`; empty while it lives.
  [[nodiscard]] std::string ending();
  /// Ends its input, at which it ends by itself; then as `awaitEnd`.
  bool finish(std::chrono::milliseconds patience = std::chrono::seconds(30));
  /// Waits for its end until then; whether it came.
  bool awaitEnd(std::chrono::milliseconds patience);
  /// What it takes now; its memory is the peak so far.
  [[nodiscard]] Taken taken() const;

private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string kept_;
  std::string ending_;
};

}  // namespace ackbox::campaign
