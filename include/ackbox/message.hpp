#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox {

/// Where a message stands. Persisted: never renumber.
enum class MessageState : std::uint8_t {
  /// Stored, waiting for its turn or for its next attempt.
  pending = 0,
  /// Claimed by a live process and on its way to the peer.
  sending = 1,
  /// The peer has stored it durably and will acknowledge it later (a deferred ACK).
  sent = 2,
  /// The peer has taken it into effect. The row is deleted, or kept for `ackedRetention`.
  acked = 3,
  /// A dead letter: given up with a reason, kept until it is redriven or discarded.
  failed = 4,
};

/// The state's name as the command line and the logs print it: `"PENDING"`, `"SENDING"`, …
[[nodiscard]] std::string_view toString(MessageState state) noexcept;

/// Attempts to deliver a message that failed in the same way, one after the other.
struct AttemptInfo {
  /// When the first and the last of them ended.
  WallTime firstAt = {};
  WallTime lastAt = {};
  std::uint64_t count = 0;
  /// How long the last took. Nothing: it was no request, but the wait for a deferred ACK.
  std::optional<std::chrono::milliseconds> took = {};
  /// What became of the message: `retry`: charged, and tried again. `release`: charged to no message, and tried again.
  /// `fail`: it was given up.
  std::string outcome = {};
  /// The HTTP status of the answer; 0: none came, or what carries the frames is not HTTP.
  int status = 0;
  /// What was wrong, cut to 200 bytes.
  std::string error = {};
};

/// One message as it stands in the file.
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
  /// The last 8 kinds of failure that differ from the one before, the newest first; a redrive keeps them. Filled by
  /// `OutboxReader::find` and `explain`; lists leave it empty.
  std::vector<AttemptInfo> attempts = {};
};

}  // namespace ackbox
