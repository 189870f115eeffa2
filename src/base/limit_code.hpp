#pragma once

#include <string_view>

namespace ackbox {

/// Whether the code of a `nack` names a limit of the receiver, which charges no attempt; see `Outcome::nack`.
[[nodiscard]] constexpr bool isLimitCode(std::string_view code) noexcept {
  return code.starts_with("limit-") || code == "inbox-full";
}

}  // namespace ackbox
