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
  /// How many were measured since the file was made; 0: `average` says nothing.
  std::uint64_t count = 0;
  /// Of all of them; exact.
  std::chrono::milliseconds average{0};
  /// How many this process has measured in the last five minutes; 0: the quantiles say nothing. Always 0 in an
  /// `OutboxReader`, which has no part in the delivery.
  std::uint64_t recent = 0;
  /// Half of the recent messages took no longer. Quantiles are at most 6.25 % off, and exact below 16 ms.
  std::chrono::milliseconds p50{0};
  std::chrono::milliseconds p95{0};
  std::chrono::milliseconds p99{0};
};

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
  /// Total: taken away before they were sent, by a later message with the same `Frame::supersedeKey`.
  std::uint64_t superseded = 0;

  /// Total: inbound frames that took effect.
  std::uint64_t received = 0;
  /// Total: inbound duplicates suppressed.
  std::uint64_t duplicates = 0;
  /// Total: numbered gaps that inbound sessions passed (the sender's dead letters).
  std::uint64_t gaps = 0;
  /// Total: inbound requests refused with 401, because they were not signed, or wrongly, or long ago.
  std::uint64_t refusedUnauthenticated = 0;
  /// Total: inbound requests refused with 403, and frames refused alone, because their sender has no right to them:
  /// another's name, a session or a kind of frame that is not its own. More than none is an attack or a mistake.
  std::uint64_t refusedForbidden = 0;

  /// Total: inbound frames refused with code `stale-epoch`: their sender's file went back, or is a copy of one in use.
  std::uint64_t staleEpochs = 0;
  /// Total: inbound frames refused with code `id-conflict`: the id was used before with other data.
  std::uint64_t idConflicts = 0;
  /// Total: inbound frames that were put off because their sender was at one of its `InboundLimits`, or at its share of
  /// the inbox. More than none asks for a look at `OutboxReader::inboundSenders`.
  std::uint64_t refusedLimits = 0;
  /// Gauge: what is kept of senders, of their sessions, stores and single frames, takes in the file; reckoned from the
  /// lengths of their names.
  std::uint64_t inboundBytes = 0;

  /// Total: how often gauges were counted anew from the rows, because one was negative or a queue that was said to be
  /// full had no message in it, and by `OutboxOperator::repair`. It never goes down: more than none says that
  /// rows were changed by hand at some time, not that anything is left to do.
  std::uint64_t recounts = 0;

  /// Gauge: inbound frames that were accepted and wait for their handler, or are being worked on.
  std::uint64_t inbox = 0;
  /// Gauge: bytes of their data.
  std::uint64_t inboxBytes = 0;
  /// Total: inbound frames that were put there.
  std::uint64_t deferred = 0;
  /// Total: results of ACK events that settled nothing, because the event named a message addressed to another peer
  /// than its source, or it came in an unsigned request. More than none is a wrong `PeerOptions::agent`, an event that
  /// was accepted by `InboundOptions::allowAnonymous` alone, or an attack.
  std::uint64_t refusedAcks = 0;

  /// When the oldest row that is not settled was enqueued; its age, by the clock of the options; nothing when all are
  /// settled.
  std::optional<WallTime> oldestPendingAt = {};
  std::optional<std::chrono::milliseconds> oldestPendingAge = {};

  /// Gauge: acknowledged rows that are kept, see `OutboxOptions::ackedRetention`.
  std::uint64_t ackedRetained = 0;
  LatencyStats enqueueToAck = {};
  /// When a message was last acknowledged; nothing: none was.
  std::optional<WallTime> lastAckedAt = {};

  /// Gauge: bytes of the database, without its log. All tables, also the application's.
  std::uint64_t fileBytes = 0;
  /// Gauge: bytes of it that hold nothing, and are used again or given back by `vacuum`.
  std::uint64_t freeBytes = 0;
  /// Gauge: bytes of the write-ahead log as the file system has it.
  std::uint64_t walBytes = 0;
  /// Why this process writes the log as SQLite does, by two calls a page, and not by one call a commit, which costs
  /// time only (docs/batched_log.md): the SQLite that runs, or the VFS, is not as that needs it. Empty: it does not. Of
  /// an `OutboxReader`, what it would be on account of SQLite.
  std::string logNotBatched = {};
};

/// One peer's part of the outbox. In a file that knows a single peer its totals are those of `Stats`.
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

  /// Unreachable, as the process that tried last has found.
  bool down = false;
  /// Failed requests in a row.
  std::uint64_t failures = 0;
  /// While it is down.
  std::optional<WallTime> downSince = {};
  std::optional<WallTime> nextProbeAt = {};
  std::string lastError = {};

  /// The identity of its store by its last answers; empty: they did not name it.
  std::string store = {};
  /// Total: how often it was found to have lost its database, or, per session, to have gone back to a backup of it;
  /// when it last was.
  std::uint64_t resets = 0;
  std::optional<WallTime> lastResetAt = {};
  /// Total: acknowledged messages that were put back to be sent again for that.
  std::uint64_t resent = 0;

  /// Since when the peer has no application for frames that it has deferred, and their type, as its last answers say;
  /// of several types the one that it named last. Nothing: it says no such thing, or `sent` is 0.
  std::optional<WallTime> unattendedSince = {};
  std::string unattendedType = {};
};

/// One session's part of the outbox. Unordered messages are in none.
struct SessionStats {
  std::string peer = {};
  std::string session = {};
  /// Gauge: messages that are not settled.
  std::uint64_t live = 0;
  /// Gauge: dead letters.
  std::uint64_t failed = 0;
  /// Of its newest message.
  std::uint64_t lastSequence = 0;
  /// Of the last message that the peer acknowledged or deferred; 0: none yet.
  std::uint64_t acceptedSequence = 0;
  /// A process has it in flight.
  bool inFlight = false;
  /// Its head is not tried before; nothing: it waits for no time.
  std::optional<WallTime> dueAt = {};
  /// When it was paused; nothing: it is not.
  std::optional<WallTime> pausedAt = {};
  /// When a dead letter stopped it (`GapPolicy::block`); nothing: none has.
  std::optional<WallTime> blockedAt = {};
};

/// What one sender makes this file keep, as `InboundLimits` limits it.
struct InboundSenderStats {
  /// Its agent URI.
  std::string source = {};
  /// Gauge: its sessions, of all its stores.
  std::uint64_t sessions = 0;
  /// Gauge: its stores.
  std::uint64_t origins = 0;
  /// Gauge: frames without a sequence, and results of deferred frames.
  std::uint64_t marks = 0;
  /// Gauge: what these take in the file; reckoned from the lengths of their names.
  std::uint64_t bytes = 0;
  /// Gauge: its frames in the inbox, and their bytes of data.
  std::uint64_t inbox = 0;
  std::uint64_t inboxBytes = 0;
};

/// One store of a sender of inbound frames: what `OutboxOperator::forgetSender` takes as `origin`.
struct InboundOriginStats {
  /// The store's identity (`sessionorigin`).
  std::string origin = {};
  /// The highest epoch seen of it; a new one with each time that the sender opens the file.
  std::uint64_t epoch = 0;
  /// Gauge: its sessions.
  std::uint64_t sessions = 0;
  /// Its frames are refused (`InboundLimits::originRetention`).
  bool isClosed = false;
  /// When its first frame was accepted, and its newest, to a day.
  WallTime beganAt{};
  WallTime seenAt{};
};

/// What `OutboxOperator::repair` found and mended.
struct RepairReport {
  /// How many gauges, and rows, were wrong.
  std::uint64_t mended = 0;
  /// The first 100 of them, for people.
  std::vector<std::string> findings = {};
};

/// What a sender made this file keep, and was taken away.
struct ForgetReport {
  std::uint64_t sessions = 0;
  std::uint64_t origins = 0;
  /// Of frames without a sequence, and results of deferred frames.
  std::uint64_t marks = 0;
  /// Sessions that stay because frames of them wait in the inbox.
  std::uint64_t kept = 0;
};

/// Chooses sessions; what is not set does not restrict.
struct SessionFilter {
  /// The peer's name.
  std::optional<std::string> peer = {};
  /// Only those with live messages or dead letters.
  bool occupied = false;
};

/// Some sessions, oldest first.
struct SessionPage {
  std::vector<SessionStats> sessions = {};
  /// Pass as `after` for the next page; 0 on the last page. A page may hold fewer than `limit`, even none, and still be
  /// followed by another: each looks at a bounded number of sessions.
  std::int64_t next = 0;
};

}  // namespace ackbox
