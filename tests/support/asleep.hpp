#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>
#include <thread>

namespace ackbox::testing {

/// Whether this thread of the process is asleep.
inline bool isAsleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');
  return end != std::string::npos && line.size() > end + 2 && line[end + 2] == 'S';
}

/// Returns when the thread has been seen asleep for a while.
inline void untilAsleep(pid_t thread) {
  for (int looks = 0; looks < 50; looks = isAsleep(thread) ? looks + 1 : 0) {
    std::this_thread::yield();
  }
}

}  // namespace ackbox::testing
