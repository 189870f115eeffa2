#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ackbox::protocol {

/// Together with the text before it, less than the longest text that is kept for a failure.
inline constexpr std::size_t kAnswerTextBytesMax = 300;

/// The text for people in an answer, on one printable line: for a JSON object the text of `detail`, `error`, `message`
/// or `title`, otherwise the beginning of the body; empty for an HTML page or any other form. Terminal control
/// characters and invalid UTF-8 are escaped, and only the prefix of a secret is kept. At most `kAnswerTextBytesMax`.
/// Never trusted: it may come from anyone.
[[nodiscard]] std::string textOfAnswer(std::string_view contentType, std::string_view body);

}  // namespace ackbox::protocol
