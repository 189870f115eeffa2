#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ackbox {

/// How `visible` writes what it does not leave as it is.
enum class Escapes : std::uint8_t {
  /// `\x1b`, `\u202e`: for people.
  text,
  /// `\u001b`, and U+FFFD for bytes that are no UTF-8: what JSON allows inside its strings.
  json,
};

/// `text` as a person may safely look at it, for programs that print what comes from outside, such as `lastError`: what
/// would steer a terminal or turn the direction of the text (control characters, escape sequences, marks of direction)
/// and bytes that are no UTF-8 are escaped.
///
/// Thread-safety: any thread. Throws `std::bad_alloc` only.
[[nodiscard]] std::string visible(std::string_view text, Escapes escapes = Escapes::text);

}  // namespace ackbox
