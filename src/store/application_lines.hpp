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

/// The same if it is away; null if it is there, or not known.
[[nodiscard]] const Application* awayFrom(std::span<const Application> applications, std::string_view mailbox,
                                          std::string_view type);

/// A frame that waits, or that a process owns, is unattended where its application is away: an application that is away
/// runs no frame, so an owned one only waits in its process.
void noteAway(std::span<const Application> applications, InboxInfo& info);

}  // namespace ackbox::store
