#pragma once

#include <string_view>

namespace ackbox::protocol {

/// Whether a Content-Type header names `wanted` (lower-case), in any case, with any parameters except a charset other
/// than UTF-8.
[[nodiscard]] bool isMediaType(std::string_view headerValue, std::string_view wanted) noexcept;

/// Whether a `datacontenttype` means JSON: `application/json`, `text/json`, or any `+json`.
[[nodiscard]] bool isJsonMediaType(std::string_view value) noexcept;

/// Whether `text` begins with `start` (lower-case), in any case.
[[nodiscard]] bool startsWithWord(std::string_view text, std::string_view start) noexcept;

}  // namespace ackbox::protocol
