#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

namespace crash {

/// While it lives, the process does not run: SIGSTOP, then SIGCONT.
class Stopped {
public:
  explicit Stopped(pid_t process);
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;
  ~Stopped();

private:
  const pid_t process_;
};

/// While it lives, the process gets what others leave of the processors (SCHED_IDLE), and threads of this one leave
/// nothing.
class Starved {
public:
  explicit Starved(pid_t process);
  Starved(const Starved&) = delete;
  Starved& operator=(const Starved&) = delete;
  ~Starved();

  /// Whether this system lets a process be starved, and fed again.
  [[nodiscard]] static bool isAllowed();

private:
  const pid_t process_;
  std::atomic<bool> ends_{false};
  // Last: they use the others.
  std::vector<std::thread> hogs_;
};

/// While it lives, each sync of an agent that was started with `--slow-disk` of this database takes half a second.
class SlowDisk {
public:
  explicit SlowDisk(const std::filesystem::path& database);
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;
  ~SlowDisk();

  /// In the agent: makes SQLite's files of this process slow while somebody wants it.
  static void obey(const std::filesystem::path& database);

private:
  const std::filesystem::path sign_;
};

}  // namespace crash
