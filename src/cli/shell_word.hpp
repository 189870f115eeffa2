#pragma once

#include <string>
#include <string_view>

namespace ackbox::cli {

/// The text in single quotes, as one word of a shell.
[[nodiscard]] std::string singleQuoted(std::string_view text);
/// The same, if it needs quotes; otherwise the text itself.
[[nodiscard]] std::string shellWord(std::string_view text);

}  // namespace ackbox::cli
