#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/inbox.hpp"
#include "ackbox/stats.hpp"
#include "records/peer.hpp"
#include "serve/inbox/frame_waits.hpp"

namespace ackbox::serve::page {

/// How an outbox is, in one sentence.
struct HealthSentence {
  /// `ok`, `warning`, `problem`: the colour.
  std::string_view level = "ok";
  std::string text = {};
  /// The view that says more; empty: none.
  std::string_view view = {};
};

/// A count that ends where looking further would take long.
struct BoundedCount {
  std::uint64_t count = 0;
  /// There may be more.
  bool isCut = false;
};

/// What is known of received frames that wait.
struct Reception {
  UnattendedFrames unattended = {};
  std::vector<SilentConsumer> silent = {};
  /// Types of `inbox.pull` some of whose frames no open stream takes, be it for their sessions.
  std::vector<std::string> unwantedTypes = {};
  /// Frames that applications have in hand.
  std::uint64_t inHand = 0;
};

/// What matters most comes first: messages for a peer that takes none, then sessions that stand still, frames without
/// an application, here and at peers, applications that settle nothing, dead letters, what is held by hand, and what
/// waits for long.
[[nodiscard]] HealthSentence healthOf(const Stats& stats, const std::vector<records::PeerFigures>& peers,
                                      BoundedCount blockedSessions, const Reception& reception, WallTime now);

}  // namespace ackbox::serve::page
