#pragma once

#include <string_view>

namespace ackbox {

/// Whether `text` is `pattern`, or begins with what stands before the `*` at its end.
[[nodiscard]] constexpr bool fitsPattern(std::string_view pattern, std::string_view text) noexcept {
  return pattern.ends_with('*') ? text.starts_with(pattern.substr(0, pattern.size() - 1)) : text == pattern;
}

/// What is wrong with `pattern`; empty: nothing.
[[nodiscard]] constexpr std::string_view patternProblem(std::string_view pattern) noexcept {
  const bool isLast = pattern.empty() || pattern.substr(0, pattern.size() - 1).find('*') == std::string_view::npos;
  return isLast ? "" : "may have a * at its end only";
}

}  // namespace ackbox
