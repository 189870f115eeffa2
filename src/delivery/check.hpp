#pragma once

namespace ackbox::delivery {

[[noreturn]] void checkFailed(const char* what, const char* file, int line) noexcept;

/// An assertion that is on in every build: after a broken contract between layers, continuing could lose messages.
inline void check(bool holds, const char* what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) noexcept {
  if (!holds) {
    checkFailed(what, file, line);
  }
}

}  // namespace ackbox::delivery
