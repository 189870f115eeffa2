#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox {

/// The state of a message. Persisted: never renumber.
enum class MessageState : std::uint8_t {
  /// Stored, waiting for its turn or for its next attempt.
  pending = 0,
  /// Claimed by a live process and on its way to the peer.
  sending = 1,
  /// The peer has stored it durably and will acknowledge it later (a deferred ACK).
  sent = 2,
  /// The peer has applied it. The row is deleted, or kept for `ackedRetention`.
  acked = 3,
  /// A dead letter: not sent any more, for a reason, and kept until it is redriven or discarded.
  failed = 4,
};

/// The state's name as the command line and the logs print it: `"PENDING"`, `"SENDING"`, …
[[nodiscard]] std::string_view toString(MessageState state) noexcept;

/// Consecutive attempts to deliver a message that failed in the same way.
struct AttemptInfo {
  /// When the first and the last of them ended.
  WallTime firstAt = {};
  WallTime lastAt = {};
  std::uint64_t count = 0;
  /// The duration of the last one; empty if it was not a request but the wait for a deferred ACK.
  std::optional<std::chrono::milliseconds> took = {};
  /// The result for the message. `retry`: charged and tried again. `release`: not charged, and tried again. `fail`:
  /// a dead letter.
  std::string outcome = {};
  /// The HTTP status of the answer; 0 if none came or the sender does not speak HTTP.
  int status = 0;
  /// The error text, cut to 200 bytes.
  std::string error = {};
};

/// One message as recorded in the file.
struct MessageInfo {
  std::string messageId = {};
  std::string peer = {};
  std::string session = {};
  std::string type = {};
  std::uint64_t sequence = 0;
  MessageState state = MessageState::pending;
  std::uint32_t retryCount = 0;
  WallTime enqueuedAt = {};
  /// Pending: not before this instant. Sent: the ACK deadline. Failed: when it failed.
  WallTime dueAt = {};
  /// Failed: the stable reason. Otherwise empty.
  std::string reason = {};
  std::string lastError = {};
  /// Its row's id: the order of commits in the whole file. A redriven message gets a new one.
  std::int64_t row = 0;
  /// The last 8 groups of equal consecutive failures, newest first; a redrive keeps them. Filled by
  /// `OutboxReader::find` and `explain`; empty in lists.
  std::vector<AttemptInfo> attempts = {};
};

}  // namespace ackbox
