#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/inbox.hpp"

namespace ackbox::store {

/// Applications as a store keeps them, one per line: the mailbox or nothing, types, the milliseconds of `awaySince` or
/// 0, and the cause, separated by tabs. With a `silent` consumer, its frames, the milliseconds of `since`, and its name
/// follow.
[[nodiscard]] std::string applicationLines(std::span<const Application> applications);

/// Parses the text of `applicationLines`; stops at the first line that is not of this form.
[[nodiscard]] std::vector<Application> readApplicationLines(std::string_view lines);

/// The application for frames of this type; null if none is known. For a frame of a mailbox, that of the mailbox or,
/// if it has none, that of the mailbox `*`. All applications of one mailbox stand together, in the order of mailboxes.
[[nodiscard]] const Application* applicationOf(std::span<const Application> applications, std::string_view mailbox,
                                               std::string_view type);

}  // namespace ackbox::store
