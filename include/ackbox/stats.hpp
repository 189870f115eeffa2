#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "ackbox/clock.hpp"

namespace ackbox {

/// The outbox's health at one committed instant. Gauges count rows now; totals count events since the file was made
/// and survive deletes and restarts. Read in O(1), whatever the backlog.
struct Stats {
  /// Gauge: waiting.
  std::uint64_t pending = 0;
  /// Gauge: claimed by a live process.
  std::uint64_t sending = 0;
  /// Gauge: deferred by the peer, waiting for its ACK event.
  std::uint64_t sent = 0;
  /// Gauge: dead letters.
  std::uint64_t failed = 0;
  /// Gauge: bytes of data in pending, sending and sent rows.
  std::uint64_t pendingBytes = 0;

  /// Total: stored by enqueues.
  std::uint64_t enqueued = 0;
  /// Total: acknowledged.
  std::uint64_t acked = 0;
  /// Total: became dead letters (a redriven one counts again if it fails again).
  std::uint64_t failedTotal = 0;
  /// Total: charged attempts that were scheduled again.
  std::uint64_t totalRetries = 0;
  /// Total: settles refused by their guard (late, stale owner, already settled). Benign; a high rate is not.
  std::uint64_t staleSettles = 0;

  /// Total: inbound frames that took effect.
  std::uint64_t received = 0;
  /// Total: inbound duplicates suppressed.
  std::uint64_t duplicates = 0;
  /// Total: numbered gaps that inbound sessions passed (the sender's dead letters).
  std::uint64_t gaps = 0;

  /// Gauge: inbound frames that were accepted and wait for their handler, or are being worked on.
  std::uint64_t inbox = 0;
  /// Total: inbound frames that were put there.
  std::uint64_t deferred = 0;
  /// Total: words of ACK events that named a message addressed to another peer than their source. None of them settled
  /// anything; more than none is an attack or a wrong `PeerOptions::agent`.
  std::uint64_t refusedAcks = 0;

  /// When the oldest row that is not settled was enqueued.
  std::optional<WallTime> oldestPendingAt;
};

}  // namespace ackbox
