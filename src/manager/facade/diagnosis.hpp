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

/// The meaning of `BlockReason::notRunning` in the calling context.
struct NotRunning {
  std::string_view text;
  /// Another process may deliver, and probe peers.
  bool othersMayRun = false;
};

/// The text of an explanation at the instant `now`.
[[nodiscard]] std::string sentenceOf(const Explanation& explanation, const NotRunning& notRunning, WallTime now);

[[nodiscard]] std::string sentenceOf(const InboxExplanation& explanation, WallTime now);

/// See `OutboxReader::peers`; includes the state known to this process's run.
[[nodiscard]] std::vector<PeerStatus> peers(Core& core);

/// See `OutboxManager::explain`.
[[nodiscard]] std::optional<Explanation> explain(Core& core, std::string_view messageId);

}  // namespace ackbox::manager
