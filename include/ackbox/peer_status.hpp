#pragma once

// What `OutboxReader::peers` and `OutboxReader::blockedSessions` answer.

#include <cstdint>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox {

/// A peer's circuit.
enum class PeerState : std::uint8_t {
  /// It answers, or was never asked.
  up,
  /// It does not answer; it is probed with growing delays.
  down,
  /// It refuses us (401, 403, 404, 405, 415, a redirect) with every message that it was asked with since it took one:
  /// probed with another message each time, ever slower, until someone mends it, or at once on `resume`.
  held,
  /// It said that it is gone for good (410), to all messages that it could be asked with or to many: not probed until
  /// `resume`.
  disabled,
  /// `pause` stopped it.
  paused,
};

/// The state's name, as printed: `"up"`, `"down"`, …
[[nodiscard]] std::string_view toString(PeerState state) noexcept;

/// A peer as the file has it, and the gauges of this process's run.
struct PeerStatus {
  std::string name = {};
  PeerState state = PeerState::up;
  /// Since when; the epoch when the file does not say.
  WallTime since{};
  /// Requests that failed in a row, whatever `state` says.
  std::uint32_t failures = 0;
  /// While `down` or `held`: when it is asked again, by the calendar of the process that delivers. That process counts
  /// the delay itself, so it asks in time also where its calendar was set back, and this instant is later than it does.
  WallTime nextProbeAt{};
  /// What the last failure said; empty after a success.
  std::string lastError = {};
  /// Whether this process was given the peer in `OutboxOptions::peers`.
  bool isConfigured = false;
  /// Of this process's run; 0 without one.
  std::uint32_t requestsInFlight = 0;
  std::uint64_t readySessions = 0;
  /// While its `RateLimit` keeps the run waiting: until when. Otherwise the epoch.
  WallTime rateLimitedUntil{};
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
  /// The session's messages that are not settled: what waits behind it, and what the peer deferred before it.
  std::uint64_t waiting = 0;
};

}  // namespace ackbox
