#pragma once

#include <string_view>

#include "cli/console.hpp"

namespace ackbox::cli {

/// A progress line on standard error that is overwritten in place; only on a terminal, and not with `--json`. The
/// destructor clears it.
class ProgressLine {
public:
  explicit ProgressLine(Console& console) : console_(console) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  /// Shows `text`, at most five times a second; drops texts that come sooner.
  void show(std::string_view text);
  /// Clears the line, before other output is printed.
  void clear();

private:
  Console& console_;
  SteadyTime shownAt_{};
  bool isShown_ = false;
};

}  // namespace ackbox::cli
