#pragma once

#include <string>
#include <string_view>

namespace ackbox::cli {

/// The text quoted as one word of a shell, if it needs quotes.
[[nodiscard]] std::string shellWord(std::string_view text);

}  // namespace ackbox::cli
