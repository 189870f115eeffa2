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

/// The most refused frames that are looked at.
inline constexpr std::size_t kRefusedCounted = 100;

/// One problem of an outbox, or its state if it has none, in a sentence.
struct HealthSentence {
  /// `ok`, `warning` or `problem`: selects the colour.
  std::string_view level = "ok";
  std::string text = {};
  /// The address of the view with details; empty if there is no such view.
  std::string view = {};
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
  /// The oldest frames whose last run failed, and which run again later.
  std::vector<InboxInfo> failing = {};
  /// The last frames that were refused for good: 100 at most.
  std::vector<InboxInfo> refused = {};
};

/// A sentence for each problem, the most important first: peers that take no messages, those with the most messages
/// first; blocked sessions; frames that fail, or were refused in the last day; frames without an application, here and
/// at peers; applications that settle nothing; dead letters; manual holds; long waits. One sentence of level `ok` if
/// there is no problem.
[[nodiscard]] std::vector<HealthSentence> healthOf(const Stats& stats, const std::vector<records::PeerFigures>& peers,
                                                   BoundedCount blockedSessions, const Reception& reception,
                                                   WallTime now);

}  // namespace ackbox::serve::page
