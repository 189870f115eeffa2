#pragma once

// Results of `OutboxReader::peers` and `OutboxReader::blockedSessions`.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox {

/// The state of a peer, as this agent's delivery sees it.
enum class PeerState : std::uint8_t {
  /// It answers, or was never sent a request.
  up,
  /// It does not answer; it is probed with growing delays.
  down,
  /// It refuses this agent (401, 403, 404, 405, 415, a redirect) with every message sent since the last one that it
  /// accepted. It is probed with a different message each time, at growing delays, until the cause is fixed; `resume`
  /// probes it at once.
  held,
  /// It answered that it is gone for good (410), to every message that could be tried or to many of them: not probed
  /// until `resume`.
  disabled,
  /// `pause` stopped it.
  paused,
};

/// The state's name, as printed: `"up"`, `"down"`, …
[[nodiscard]] std::string_view toString(PeerState state) noexcept;

/// What becomes of the unsettled messages of a peer that is removed (`OutboxOperator::removePeer`).
enum class WaitingMessages : std::uint8_t { refuse, fail };

/// The result of `OutboxOperator::removePeer`.
struct PeerRemoval {
  /// Whether the peer is removed.
  bool isRemoved = false;
  /// Messages that became dead letters.
  std::uint64_t failed = 0;
  /// Unsettled messages that are left.
  std::uint64_t left = 0;
  /// Its subscriptions, which are removed with it.
  std::uint64_t subscriptions = 0;
};

/// A peer as recorded in the file, and the gauges of this process's run.
struct PeerStatus {
  std::string name = {};
  PeerState state = PeerState::up;
  /// When the state began; the epoch if the file does not record it.
  WallTime since{};
  /// Requests that failed in a row, whatever `state` says.
  std::uint32_t failures = 0;
  /// While `down` or `held`: when it is probed again, by the calendar of the delivering process. That process measures
  /// the delay independently of the calendar, so if its calendar was set back, it probes before this instant.
  WallTime nextProbeAt{};
  /// The text of the last failure; empty after a success.
  std::string lastError = {};
  /// Whether the peer is in this process's `OutboxOptions::peers`, or was added to the outbox and is a peer of this
  /// process.
  bool isConfigured = false;
  /// Of a peer that was added to the outbox (`OutboxOperator::addPeer`); empty for any other.
  std::string definition = {};
  /// Whether it was removed from the outbox.
  bool isRemoved = false;
  /// Of this process's run; 0 without one.
  std::uint32_t requestsInFlight = 0;
  std::uint64_t readySessions = 0;
  /// While its `RateLimit` makes the run wait: the end of that wait. Otherwise the epoch.
  WallTime rateLimitedUntil{};
  /// Of this process's run: the time for which its `RateLimit` made messages wait that could have been sent. A wait
  /// counts whole from its beginning.
  std::chrono::milliseconds rateLimited{0};
};

/// A session that a dead letter stopped (`GapPolicy::block`).
struct BlockedSession {
  std::string peer = {};
  std::string session = {};
  /// The dead letter that blocks it.
  std::string messageId = {};
  std::uint64_t sequence = 0;
  std::string reason = {};
  std::string lastError = {};
  WallTime since{};
  /// The session's unsettled messages: those behind the dead letter, and those before it that the peer has deferred.
  std::uint64_t waiting = 0;
};

}  // namespace ackbox
