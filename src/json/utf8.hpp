#pragma once

#include <string_view>

namespace ackbox::json {

/// Whether `text` is valid UTF-8.
[[nodiscard]] bool isUtf8(std::string_view text) noexcept;

}  // namespace ackbox::json
