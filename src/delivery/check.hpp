#pragma once

#include <source_location>

namespace ackbox::delivery {

[[noreturn]] void checkFailed(const char* what, const std::source_location& where) noexcept;

/// An assertion that stays on in every build: a broken promise between layers must not go on to lose messages.
inline void check(bool holds, const char* what,
                  const std::source_location& where = std::source_location::current()) noexcept {
  if (!holds) {
    checkFailed(what, where);
  }
}

}  // namespace ackbox::delivery
