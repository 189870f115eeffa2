#pragma once

#include <cstddef>
#include <string_view>

namespace ackbox::store {

/// `text` cut to the length of a stored error, between two UTF-8 characters.
[[nodiscard]] std::string_view truncatedError(std::string_view text, std::size_t bytesMax = 1'000) noexcept;

/// The same for the errors in the log of a message's attempts, and how many of these a message keeps.
inline constexpr std::size_t kAttemptErrorBytesMax = 200;
inline constexpr int kAttemptsMax = 8;

}  // namespace ackbox::store
