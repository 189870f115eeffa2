#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ackbox {

/// How `visible` writes the characters that it replaces.
enum class Escapes : std::uint8_t {
  /// `\x1b`, `\u202e`: for people.
  text,
  /// `\u001b`, and U+FFFD for bytes that are not UTF-8: the escapes that JSON allows inside its strings.
  json,
};

/// Returns `text` in a form that is safe to display, for programs that print text from outside, such as `lastError`:
/// characters that would control a terminal or change the direction of the text (control characters, escape sequences,
/// marks of direction) and bytes that are not UTF-8 are escaped.
///
/// Thread-safety: any thread. Throws `std::bad_alloc` only.
[[nodiscard]] std::string visible(std::string_view text, Escapes escapes = Escapes::text);

}  // namespace ackbox
