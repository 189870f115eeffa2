#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

namespace crash {

/// Stops the process for its lifetime: SIGSTOP, then SIGCONT.
class Stopped {
public:
  explicit Stopped(pid_t process);
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;
  ~Stopped();

private:
  const pid_t process_;
};

/// For its lifetime, the process gets only processor time that others leave (SCHED_IDLE), and threads of this process
/// leave none.
class Starved {
public:
  explicit Starved(pid_t process);
  Starved(const Starved&) = delete;
  Starved& operator=(const Starved&) = delete;
  ~Starved();

  /// Whether this system allows a process to be starved and restored.
  [[nodiscard]] static bool isAllowed();

private:
  const pid_t process_;
  std::atomic<bool> ends_{false};
  // Last, because the threads use the other members.
  std::vector<std::thread> hogs_;
};

/// For its lifetime, each sync takes half a second in an agent that was started with `--slow-disk` on this database.
class SlowDisk {
public:
  explicit SlowDisk(const std::filesystem::path& database);
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;
  ~SlowDisk();

  /// In the agent: makes SQLite's files of this process slow while a test requests it.
  static void obey(const std::filesystem::path& database);

private:
  const std::filesystem::path sign_;
};

}  // namespace crash
