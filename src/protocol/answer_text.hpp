#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ackbox::protocol {

/// With what stands before it, less than the longest text that is kept of a failure.
inline constexpr std::size_t kAnswerTextBytesMax = 300;

/// What an answer says to people, on one line that can be printed: of a JSON object the text of `detail`, `error`,
/// `message` or `title`, else the beginning of the body; nothing of a page of HTML, or of any other form. What steers a
/// terminal and invalid UTF-8 are escaped, and of a secret only the prefix is kept. At most
/// `kAnswerTextBytesMax`. Never believed: it may come from anybody.
[[nodiscard]] std::string textOfAnswer(std::string_view contentType, std::string_view body);

}  // namespace ackbox::protocol
