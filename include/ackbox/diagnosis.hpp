#pragma once

// What `OutboxReader::explain` and `OutboxReader::verify` answer.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/message.hpp"

namespace ackbox {

/// Why a message is not moving. Each stands for one fact; several may hold at once.
enum class BlockReason : std::uint8_t {
  /// It is acknowledged; the row is kept until `until`.
  acknowledged,
  /// It was given up at `until`; `detail` is the reason.
  deadLetter,
  /// The peer has it and will acknowledge; at `until` it is asked again.
  awaitsAck,
  /// The process `processId` is sending it.
  inFlight,
  /// The process `processId` was sending it, or had its session, and is dead: any live process that has the file open
  /// puts it back at its next look.
  ownerDead,
  /// Its expiry `until` has passed: it fails when its turn comes.
  expired,
  /// It is older than `RetryPolicy::horizon`: it fails when its turn comes.
  pastHorizon,
  /// It was enqueued to be sent not before `until`.
  notBefore,
  /// The message with `sequence` goes before it in its session; `retryCount` attempts of that one failed, the last with
  /// `detail`. `sequence` 0: some do, too far ahead to look for.
  behind,
  /// The process `processId` has its session in flight.
  sessionInFlight,
  /// Its session, or the unordered message itself, waits until `until` for the next attempt; `detail` is the last
  /// error.
  backoff,
  /// The peer is unreachable since `since` and is probed at `until`; `detail` is the last error.
  peerDown,
  /// This process was not given the peer: another one has to deliver it.
  peerNotConfigured,
  /// No run is under way in this process.
  notRunning,
  /// The dead letter with `sequence` stopped its session at `until`: unblock it, or redrive or discard the dead letter.
  /// `detail` is that dead letter's reason.
  sessionBlocked,
  /// Its session was paused at `until`: resume it.
  sessionPaused,
  /// Its peer was paused at `until`: resume it.
  peerPaused,
  /// Its peer refuses us, or cannot be asked as it is configured, and is asked again at `until`: mend what `detail`
  /// says, then resume the peer.
  peerHeld,
  /// Its peer said that it is gone for good, and is not asked until it is resumed; `detail` is the last error.
  peerDisabled,
  /// Its peer's `RateLimit` lets nothing go before `until`, in this process.
  rateLimited,

  // Of deferred frames only; `behind`, `backoff` and `ownerDead` hold for them as well.

  /// Its handler, or an application, has it in hand since `since`, in the process `processId`.
  running,
  /// No live process has a `DeferredOptions::handler` for this file.
  noDeferredHandler,
  /// Its handler acknowledged it, and its result is kept until `until`.
  handled,
  /// It was refused, given up or discarded; `detail` is why, and kept until `until`.
  refused,
  /// `sequence` ACK events to its sender, the peer `detail`, wait in the outbox.
  ackEventsWait,
  /// Its sender is no peer of this file by its agent URI, so that no ACK event goes to it: it asks again at its
  /// `ackTimeout`.
  senderIsNoPeer,
  /// It waits for an application since `since`: for `detail`.
  applicationAway,

  // Of messages that the peer has deferred.

  /// At the peer no application takes frames of its type, `detail`, since `since`, as the peer's last answer says.
  peerUnattended,
};

/// The reason's name, as printed: `"behind"`, `"peerDown"`, …
[[nodiscard]] std::string_view toString(BlockReason reason) noexcept;

/// One link in the chain of reasons. Fields that the block reason does not name are empty.
struct Reason {
  BlockReason blockReason = BlockReason::notRunning;
  WallTime until{};
  WallTime since{};
  std::uint64_t sequence = 0;
  std::uint32_t retryCount = 0;
  std::int64_t processId = 0;
  std::string detail = {};
};

/// Why a message stands where it stands, at one committed instant.
struct Explanation {
  MessageInfo message = {};
  /// What is nearest to the message first. Empty: nothing hinders it, and it goes at the next claim
  /// of a process that delivers and was given its peer.
  std::vector<Reason> reasons = {};
  /// The same for people.
  std::string sentence = {};
};

/// One broken invariant.
struct Finding {
  /// The table or view, with its prefix; empty when SQLite itself complains about the file.
  std::string table = {};
  /// The row's id; 0 when it is about the whole table.
  std::int64_t row = 0;
  /// What is wrong with it, in a sentence.
  std::string problem = {};
};

/// What `verify` found.
struct VerifyReport {
  /// Empty: every invariant holds. At most 100 per invariant.
  std::vector<Finding> findings = {};
  /// The SQLite that runs here.
  std::string sqliteVersion = {};
  /// It is older than 3.51.3: such versions may damage a file when a passive checkpoint races another
  /// connection's commit. ackbox never does that; a foreign connection with automatic checkpoints may.
  bool hasCheckpointDefect = false;
  /// How it differs from what the batched log rests on, see `Stats::logNotBatched`; empty: it does not.
  std::string logNotBatched = {};
  /// What was committed and is not used, because the log is damaged, or was not finished before a power cut; empty:
  /// nothing. No finding, as the second is normal. The next process that opens the file to write takes the trace away.
  std::string logCutShort = {};
  /// How much was looked at: rows of the outbox, sessions with their queues of unordered messages, peers, and pages of
  /// the file.
  std::uint64_t messages = 0;
  std::uint64_t sessions = 0;
  std::uint64_t peers = 0;
  std::uint64_t pages = 0;

  [[nodiscard]] bool clean() const noexcept { return findings.empty(); }
};

}  // namespace ackbox
