#pragma once

#include <string>
#include <string_view>

#include "ackbox/receipt.hpp"

// What is said of messages that an operator sends again: by the tool, the API and the page.

namespace ackbox::records {

inline constexpr std::string_view kResentUnderItsId =
    "each keeps its id: outside sessions, the receiver recognises what it has taken already; in a session, it takes "
    "effect again, unless the application looks at the id";

inline constexpr std::string_view kResentAsNew =
    "each gets a new id and takes effect again; it names the message that it repeats";

inline constexpr std::string_view kResentToAnother =
    "each gets a new id and takes effect at the other peer; it names the message that it repeats";

/// Why the outbox refused a new message of an old one, and whether `request`, such as "command", can be made again.
[[nodiscard]] inline std::string refusedResend(EnqueueStatus status, const std::string& detail,
                                               std::string_view request) {
  return status == EnqueueStatus::queueFull ? detail + "; the same " + std::string(request) + " goes on from there"
                                            : detail;
}

}  // namespace ackbox::records
