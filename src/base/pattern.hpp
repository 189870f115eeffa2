#pragma once

#include <string_view>

namespace ackbox {

/// Whether `text` is `pattern`, or begins with what stands before the `*` at its end.
[[nodiscard]] constexpr bool fitsPattern(std::string_view pattern, std::string_view text) noexcept {
  return pattern.ends_with('*') ? text.starts_with(pattern.substr(0, pattern.size() - 1)) : text == pattern;
}

}  // namespace ackbox
