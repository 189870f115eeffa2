#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/peer_status.hpp"
#include "manager/facade/core.hpp"

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

/// See `OutboxReader::peers`, with what this process's run knows.
[[nodiscard]] std::vector<PeerStatus> peers(Core& core);

/// See `OutboxManager::explain`.
[[nodiscard]] std::optional<Explanation> explain(Core& core, std::string_view messageId);

}  // namespace ackbox::manager
