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

/// The state of an outbox, in one sentence.
struct HealthSentence {
  /// `ok`, `warning` or `problem`: selects the colour.
  std::string_view level = "ok";
  std::string text = {};
  /// The view with details; empty if there is no such view.
  std::string_view view = {};
};

/// A count that stops where counting further would take long.
struct BoundedCount {
  std::uint64_t count = 0;
  /// There may be more.
  bool isCut = false;
};

/// What is known about waiting received frames.
struct Reception {
  UnattendedFrames unattended = {};
  std::vector<SilentConsumer> silent = {};
  /// Types of `inbox.pull` with frames that no open stream takes, if only because of their sessions.
  std::vector<std::string> unwantedTypes = {};
  /// Frames that applications have in hand.
  std::uint64_t inHand = 0;
};

/// Reports the most important problem first: messages for a peer that takes none, then blocked sessions, frames without
/// an application, here and at peers, applications that settle nothing, dead letters, manual holds, and long waits.
[[nodiscard]] HealthSentence healthOf(const Stats& stats, const std::vector<records::PeerFigures>& peers,
                                      BoundedCount blockedSessions, const Reception& reception, WallTime now);

}  // namespace ackbox::serve::page
