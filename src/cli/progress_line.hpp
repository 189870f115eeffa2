#pragma once

#include <string_view>

#include "cli/console.hpp"

namespace ackbox::cli {

/// A line on standard error that is written over and over while something takes its time; only on a terminal, and not
/// with `--json`. It is gone when its object is.
class ProgressLine {
public:
  explicit ProgressLine(Console& console) : console_(console) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  /// Not more often than five times a second; what comes sooner is left out.
  void show(std::string_view text);
  /// Takes it away, before something else is printed.
  void clear();

private:
  Console& console_;
  SteadyTime shownAt_{};
  bool isShown_ = false;
};

}  // namespace ackbox::cli
