#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox {

/// How long messages took from their enqueue to their ACK.
struct LatencyStats {
  /// How many were measured since the outbox was made; if 0, `average` has no meaning.
  std::uint64_t count = 0;
  /// Over all of them; exact.
  std::chrono::milliseconds average{0};
  /// How many this process has measured in the last five minutes; if 0, the quantiles have no meaning. Always 0 in an
  /// `OutboxReader`, which has no part in the delivery.
  std::uint64_t recent = 0;
  /// Half of the recent messages took no longer. Quantiles are at most 6.25 % off, and exact below 16 ms.
  std::chrono::milliseconds p50{0};
  std::chrono::milliseconds p95{0};
  std::chrono::milliseconds p99{0};
};

/// The outbox's health at one committed instant. Gauges count rows now; totals count events since the outbox was made
/// and survive deletes and restarts. Read in O(1), whatever the backlog.
struct Stats {
  /// Gauge: waiting to be sent.
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
  /// Total: deleted before they were sent, because of a later message with the same `Frame::supersedeKey`.
  std::uint64_t superseded = 0;

  /// Total: inbound frames that took effect.
  std::uint64_t received = 0;
  /// Total: inbound duplicates suppressed.
  std::uint64_t duplicates = 0;
  /// Total: numbered gaps that inbound sessions passed (the sender's dead letters).
  std::uint64_t gaps = 0;
  /// Total: inbound requests refused with 401, because their signature was missing, wrong or too old.
  std::uint64_t refusedUnauthenticated = 0;
  /// Total: inbound requests refused with 403, and frames refused alone, because their sender has no right to them:
  /// another agent's name, or a session or kind of frame that it may not use. More than 0 is an attack or a mistake.
  std::uint64_t refusedForbidden = 0;

  /// Total: inbound frames refused with code `stale-epoch`: the sender's file was restored, or is a copy of one in use.
  std::uint64_t staleEpochs = 0;
  /// Total: inbound frames refused with code `id-conflict`: the id was used before with other data.
  std::uint64_t idConflicts = 0;
  /// Total: inbound frames that were put off because their sender was at one of its `InboundLimits`, or at its share of
  /// the inbox. If more than 0, see `OutboxReader::inboundSenders`.
  std::uint64_t refusedLimits = 0;
  /// Gauge: bytes that the records of senders (sessions, stores and single frames) take in the file; estimated from the
  /// lengths of their names.
  std::uint64_t inboundBytes = 0;

  /// Total: how often gauges were counted again from the rows: because one was negative or a queue that counted as full
  /// was empty, or by `OutboxOperator::repair`. It never goes down: more than 0 means that rows were changed by hand at
  /// some time, not that anything is left to do.
  std::uint64_t recounts = 0;

  /// Gauge: inbound frames that were deferred and wait for their handler, or are being worked on.
  std::uint64_t inbox = 0;
  /// Gauge: bytes of their data.
  std::uint64_t inboxBytes = 0;
  /// Total: inbound frames that were deferred.
  std::uint64_t deferred = 0;
  /// Total: results of ACK events that settled nothing, because the event named a message addressed to a peer other
  /// than its source, or came in an unsigned request. More than 0 is a wrong `PeerOptions::agent`, an event that was
  /// accepted by `InboundOptions::allowAnonymous` alone, or an attack.
  std::uint64_t refusedAcks = 0;

  /// When the oldest unsettled row was enqueued, and its age by the clock of the options; empty if all are settled.
  std::optional<WallTime> oldestPendingAt = {};
  std::optional<std::chrono::milliseconds> oldestPendingAge = {};

  /// Gauge: acknowledged rows that are kept, see `OutboxOptions::ackedRetention`.
  std::uint64_t ackedRetained = 0;
  LatencyStats enqueueToAck = {};
  /// When a message was last acknowledged; empty if none was.
  std::optional<WallTime> lastAckedAt = {};

  /// Gauge: bytes of the database without its log: all tables, also the application's.
  std::uint64_t fileBytes = 0;
  /// Gauge: unused bytes of the database, which are used again or given back by `vacuum`.
  std::uint64_t freeBytes = 0;
  /// Gauge: bytes of the write-ahead log on the file system.
  std::uint64_t walBytes = 0;
  /// Why this process does not batch the log (docs/batched_log.md): it writes the log with two calls a page, as SQLite
  /// does, not with one call a commit. The SQLite library or the VFS does not fit. Costs time only. Empty if the log is
  /// batched. In an `OutboxReader`, the reason as far as it depends on the SQLite library.
  std::string logNotBatched = {};
};

/// One peer's part of the outbox. In a file with a single peer, the totals are those of `Stats`.
struct PeerStats {
  std::string peer = {};
  /// As in `Stats`.
  std::uint64_t pending = 0;
  std::uint64_t sending = 0;
  std::uint64_t sent = 0;
  std::uint64_t failed = 0;
  std::uint64_t pendingBytes = 0;
  std::uint64_t enqueued = 0;
  std::uint64_t acked = 0;
  std::uint64_t failedTotal = 0;
  std::uint64_t totalRetries = 0;

  /// Whether it is unreachable, by the process that tried last.
  bool down = false;
  /// Requests that failed in a row.
  std::uint64_t failures = 0;
  /// While it is down.
  std::optional<WallTime> downSince = {};
  std::optional<WallTime> nextProbeAt = {};
  std::string lastError = {};

  /// The identity of its store in its last answers; empty if they did not name it.
  std::string store = {};
  /// Total: how often it was found to have lost its database or, counted by session, to have been restored from a
  /// backup of it; and when it last was.
  std::uint64_t resets = 0;
  std::optional<WallTime> lastResetAt = {};
  /// Total: acknowledged messages that were put back because of that, to be sent again.
  std::uint64_t resent = 0;

  /// Since when the peer has had no application for frames that it has deferred, and their type, by its last answers;
  /// of several types, the one named last. Empty if the peer reports none, or `sent` is 0.
  std::optional<WallTime> unattendedSince = {};
  std::string unattendedType = {};
};

/// One session's part of the outbox. Unordered messages belong to no session.
struct SessionStats {
  std::string peer = {};
  std::string session = {};
  /// Gauge: messages that are not settled.
  std::uint64_t live = 0;
  /// Gauge: dead letters.
  std::uint64_t failed = 0;
  /// The sequence of its newest message.
  std::uint64_t lastSequence = 0;
  /// The sequence of the last message that the peer acknowledged or deferred; 0 if it has not done so yet.
  std::uint64_t acceptedSequence = 0;
  /// Whether a process has it in flight.
  bool inFlight = false;
  /// Its first message is not tried before this instant; empty if it waits for no instant.
  std::optional<WallTime> dueAt = {};
  /// When it was paused; empty if it is not paused.
  std::optional<WallTime> pausedAt = {};
  /// When a dead letter stopped it (`GapPolicy::block`); empty if none has.
  std::optional<WallTime> blockedAt = {};
};

/// What this file keeps of one sender, within its `InboundLimits`.
struct InboundSenderStats {
  /// Its agent URI.
  std::string source = {};
  /// Gauge: its sessions, of all its stores.
  std::uint64_t sessions = 0;
  /// Gauge: its stores.
  std::uint64_t origins = 0;
  /// Gauge: frames without a sequence, and results of deferred frames.
  std::uint64_t marks = 0;
  /// Gauge: bytes that these take in the file, estimated from the lengths of their names.
  std::uint64_t bytes = 0;
  /// Gauge: its frames in the inbox, and their bytes of data.
  std::uint64_t inbox = 0;
  std::uint64_t inboxBytes = 0;
};

/// One store of a sender of inbound frames, as `OutboxOperator::forgetSender` takes it by its `origin`.
struct InboundOriginStats {
  /// The store's identity (`sessionorigin`).
  std::string origin = {};
  /// The highest epoch seen of it; each time the sender opens the file, the epoch is a new one.
  std::uint64_t epoch = 0;
  /// Gauge: its sessions.
  std::uint64_t sessions = 0;
  /// Whether its frames are refused (`InboundLimits::originRetention`).
  bool isClosed = false;
  /// When its first frame was accepted, and its newest one, to the day.
  WallTime beganAt{};
  WallTime seenAt{};
};

/// What `OutboxOperator::repair` found and repaired.
struct RepairReport {
  /// How many gauges and rows were wrong.
  std::uint64_t mended = 0;
  /// The first 100 of them, for people.
  std::vector<std::string> findings = {};
};

/// What `OutboxOperator::forgetSender` deleted.
struct ForgetReport {
  std::uint64_t sessions = 0;
  std::uint64_t origins = 0;
  /// Marks of frames without a sequence, and results of deferred frames.
  std::uint64_t marks = 0;
  /// Sessions that stay because they have frames in the inbox.
  std::uint64_t kept = 0;
};

/// Selects sessions; a field that is not set does not restrict.
struct SessionFilter {
  /// The peer's name.
  std::optional<std::string> peer = {};
  /// Only those with live messages or dead letters, and those that are paused.
  bool occupied = false;
};

/// A page of sessions, oldest first.
struct SessionPage {
  std::vector<SessionStats> sessions = {};
  /// Pass as `after` for the next page; 0 on the last page. A page may hold fewer than `limit`, even none, and still be
  /// followed by another, because each page reads a bounded number of sessions.
  std::int64_t next = 0;
};

}  // namespace ackbox
