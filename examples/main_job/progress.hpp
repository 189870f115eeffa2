#pragma once

#include <chrono>
#include <string>

namespace main_job {

/// Tells on standard error how far a run is: one line rewritten in place on a terminal, otherwise a line a second.
class Progress {
public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Leaves the last line standing.
  ~Progress();

  void show(const std::string& line);

private:
  const bool terminal_;
  std::chrono::steady_clock::time_point shownAt_{};
};

}  // namespace main_job
