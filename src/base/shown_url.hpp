#pragma once

#include <string_view>

namespace ackbox {

/// A URL as logs, errors, figures, traces and pages show it: without its query, which may hold a secret.
[[nodiscard]] constexpr std::string_view shownUrl(std::string_view url) noexcept {
  return url.substr(0, url.find('?'));
}

}  // namespace ackbox
