#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "bench/child_process.hpp"

namespace ackbox::bench {

/// Another process on the same outbox, which enqueues and does not deliver. Its instants are ours: both are read from
/// the machine's monotonic clock.
class Neighbour {
public:
  explicit Neighbour(const std::filesystem::path& file) : process_({"--role", "neighbour", "--file", file.string()}) {
    (void)process_.readLine();
  }

  struct Enqueued {
    /// Before and after the call that returned when the frame was on disk.
    std::chrono::steady_clock::time_point called;
    std::chrono::steady_clock::time_point returned;
  };
  /// Has it enqueue one frame.
  [[nodiscard]] Enqueued enqueue();

  /// How long it takes to hear from it at all: from its write into a pipe to our having read it.
  [[nodiscard]] std::chrono::steady_clock::duration pipeWake();

  void finish() { process_.finish(); }

private:
  [[nodiscard]] Enqueued ask(const std::string& what);

  ChildProcess process_;
};

/// The body of that process: ends with its input.
int runNeighbour(const std::filesystem::path& file);

}  // namespace ackbox::bench
