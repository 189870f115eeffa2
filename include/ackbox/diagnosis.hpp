#pragma once

// Results of `OutboxReader::explain` and `OutboxReader::verify`.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/message.hpp"

namespace ackbox {

/// Why a message is not moving. Each value stands for one fact; several may hold at once.
enum class BlockReason : std::uint8_t {
  /// It is acknowledged; the row is kept until `until`.
  acknowledged,
  /// It became a dead letter at `until`; `detail` is the reason.
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
  /// The message with `sequence` goes before it in its session; `retryCount` attempts of that message failed, the last
  /// with `detail`. `sequence` 0: there are earlier messages, too far ahead to look for.
  behind,
  /// The process `processId` has its session in flight.
  sessionInFlight,
  /// Its session, or the unordered message itself, waits until `until` for the next attempt; `detail` is the message's
  /// last error, behind `not charged to the message: ` if it was not the message's failure.
  backoff,
  /// The peer has been unreachable since `since` and is probed at `until`; `detail` is the last error.
  peerDown,
  /// The peer is not configured in this process: another process has to deliver the message.
  peerNotConfigured,
  /// The peer was removed from the outbox (`OutboxOperator::removePeer`); `until` is since when.
  peerRemoved,
  /// No run is under way in this process.
  notRunning,
  /// The dead letter with `sequence` stopped its session at `until`: unblock it, or redrive or discard the dead letter.
  /// `detail` is that dead letter's reason.
  sessionBlocked,
  /// Its session was paused at `until`: resume it.
  sessionPaused,
  /// Its peer was paused at `until`: resume it.
  peerPaused,
  /// Its peer refuses this agent, or cannot be asked as it is configured, and is probed again at `until`: fix the cause
  /// that `detail` names, then resume the peer.
  peerHeld,
  /// Its peer said that it is gone for good, and is not probed until it is resumed; `detail` is the last error.
  peerDisabled,
  /// In this process, its peer's `RateLimit` allows no send before `until`.
  rateLimited,

  // For deferred frames only; `behind`, `backoff` and `ownerDead` apply to them as well.

  /// Its handler, or an application, has been working on it since `since`, in the process `processId`.
  running,
  /// No live process has a `DeferredOptions::handler` for this file.
  noDeferredHandler,
  /// Its handler acknowledged it, and its result is kept until `until`.
  handled,
  /// It was refused, has failed or was discarded; `detail` is the reason. The outcome is kept until `until`.
  refused,
  /// `sequence` ACK events to its sender, the peer `detail`, wait in the outbox.
  ackEventsWait,
  /// No peer of this file has its sender's agent URI, so no ACK event can be sent: the sender asks again at its
  /// `ackTimeout`.
  senderIsNoPeer,
  /// It has been waiting for an application since `since`; `detail` says for which.
  applicationAway,

  // For messages that the peer has deferred.

  /// By the peer's last answer, no application there has taken frames of its type, `detail`, since `since`.
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

/// Why a message is in its state, at one committed instant.
struct Explanation {
  MessageInfo message = {};
  /// The reason nearest to the message comes first. Empty: nothing blocks the message, and it is sent after the next
  /// claim of a process that delivers and is configured with its peer.
  std::vector<Reason> reasons = {};
  /// The same for people.
  std::string sentence = {};
};

/// One broken invariant.
struct Finding {
  /// The table or view, with its prefix; empty if SQLite itself reports the file as damaged.
  std::string table = {};
  /// The row's id; 0 if the finding is about the whole table.
  std::int64_t row = 0;
  /// What is wrong, in a sentence.
  std::string problem = {};
};

/// The result of `OutboxReader::verify`.
struct VerifyReport {
  /// Empty: every invariant holds. At most 100 findings per invariant.
  std::vector<Finding> findings = {};
  /// The version of the SQLite that runs in this process.
  std::string sqliteVersion = {};
  /// It is older than 3.51.3: such versions may damage a file when a passive checkpoint races another
  /// connection's commit. ackbox never does that; a foreign connection with automatic checkpoints may.
  bool hasCheckpointDefect = false;
  /// Why this SQLite does not fit the batched log, see `Stats::logNotBatched`; empty if it does.
  std::string logNotBatched = {};
  /// Committed changes that are not used, because the log is damaged, or was not finished before a power cut; empty if
  /// none. Not a finding, as the latter is normal. The next process that opens the file to write removes the trace.
  std::string logCutShort = {};
  /// Tables of the application whose content is not checked, because their indexes need its functions or collations.
  /// With such a table, it is not checked either whether each page of the file is used.
  std::vector<std::string> notChecked = {};
  /// How much was checked: rows of the outbox, sessions with their queues of unordered messages, peers, and pages of
  /// the file.
  std::uint64_t messages = 0;
  std::uint64_t sessions = 0;
  std::uint64_t peers = 0;
  std::uint64_t pages = 0;

  [[nodiscard]] bool clean() const noexcept { return findings.empty(); }
};

}  // namespace ackbox
