#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace main_job {

/// A process started by this one. Its standard output is a pipe to here; it dies when its parent does.
///
/// Thread-safety: none. Lifetime: destruction kills the process and reaps it.
class Child {
public:
  /// Starts `program`; its standard error is appended to `log`, or shared with this process when `log` is empty.
  /// Throws `std::system_error`.
  Child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
        const std::filesystem::path& log = {});
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  /// The next line that it prints; nothing when it ends, or stays silent for `patience`.
  [[nodiscard]] std::optional<std::string> readLine(std::chrono::milliseconds patience);

  /// Whether it has not ended yet.
  [[nodiscard]] bool alive();

  /// Its number, for signals.
  [[nodiscard]] pid_t id() const noexcept { return process_; }

  /// Waits for its end, no longer than `patience`; returns whether it has ended. What it prints meanwhile is kept.
  bool endsWithin(std::chrono::microseconds patience);

  /// SIGKILL, and waits for the end.
  void kill();

  /// SIGTERM, and waits for the end. Returns the exit code, or minus the number of the signal that ended it; a process
  /// that outlasts `patience` is killed.
  int terminate(std::chrono::milliseconds patience);

private:
  bool awaitOutput(std::chrono::steady_clock::time_point deadline);
  void reap(int options);

  pid_t process_ = -1;
  int output_ = -1;
  bool ended_ = true;
  int status_ = 0;
  std::string unread_;
};

}  // namespace main_job
