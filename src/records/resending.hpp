#pragma once

#include <string_view>

// What the choice of ids means for messages that an operator sends again: for the tool, the API and the page.

namespace ackbox::records {

inline constexpr std::string_view kResentUnderItsId =
    "each keeps its id: outside sessions, the receiver recognises what it has taken already; in a session, it takes "
    "effect again, unless the application looks at the id";

inline constexpr std::string_view kResentAsNew =
    "each gets a new id and takes effect again; it names the message that it repeats";

inline constexpr std::string_view kResentToAnother =
    "each gets a new id and takes effect at the other peer; it names the message that it repeats";

}  // namespace ackbox::records
