#pragma once

#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/inbox.hpp"

namespace ackbox::manager {

/// What `BlockReason::notRunning` means where it was found.
struct NotRunning {
  std::string_view text;
  /// Another process may deliver, and probe peers.
  bool othersMayRun = false;
};

/// An explanation for people at the instant `now`.
[[nodiscard]] std::string sentenceOf(const Explanation& explanation, const NotRunning& notRunning, WallTime now);

[[nodiscard]] std::string sentenceOf(const InboxExplanation& explanation, WallTime now);

/// Adds to an explanation what a reader of the file alone knows, and its sentence. `isOpen`: a live process has the
/// file open.
void completeFromFile(Explanation& explanation, bool isOpen, WallTime now);

}  // namespace ackbox::manager
