#pragma once

#include <string_view>

namespace ackbox {

/// Whether `text` equals `pattern`, or begins with the part before the `*` at its end.
[[nodiscard]] constexpr bool fitsPattern(std::string_view pattern, std::string_view text) noexcept {
  return pattern.ends_with('*') ? text.starts_with(pattern.substr(0, pattern.size() - 1)) : text == pattern;
}

/// The problem of `pattern`; empty: it is valid.
[[nodiscard]] constexpr std::string_view patternProblem(std::string_view pattern) noexcept {
  const bool isLast = pattern.empty() || pattern.substr(0, pattern.size() - 1).find('*') == std::string_view::npos;
  return isLast ? "" : "may have a * at its end only";
}

}  // namespace ackbox
