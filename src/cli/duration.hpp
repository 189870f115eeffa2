#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace ackbox::cli {

/// `500ms`, `10s`, `5m`, `2h`, `7d`; a number alone counts seconds. Nothing if it has another form, or is more than 100
/// years.
[[nodiscard]] std::optional<std::chrono::milliseconds> parseDuration(std::string_view text);

}  // namespace ackbox::cli
