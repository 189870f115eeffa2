#include "progress.hpp"

#include <unistd.h>

#include <iostream>

namespace main_job {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (terminal_ && shownAt_ != std::chrono::steady_clock::time_point{}) {
    std::cerr << '\n';
  }
}

void Progress::show(const std::string& line) {
  const auto now = std::chrono::steady_clock::now();
  if (now - shownAt_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(1000))) {
    return;
  }
  shownAt_ = now;
  if (terminal_) {
    // Back to the first column, and clear what an earlier, longer line left.
    std::cerr << '\r' << line << "\033[K" << std::flush;
  } else {
    std::cerr << line << '\n';
  }
}

}  // namespace main_job
