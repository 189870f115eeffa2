#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

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
};

/// One attempt to deliver a message that did not end with an acknowledgement or a deferral: a request that ended. Of an
/// attempt whose process died meanwhile nothing is kept.
struct DeliveryAttempt {
  /// When the request began.
  WallTime startedAt = {};
  /// Until its end.
  std::chrono::milliseconds duration{};
  /// The status of the HTTP answer; 0: there was none, or another carrier.
  int status = 0;
  /// Counts as one of the retries that the message's policy allows, or was the last one. What is the peer's fault, as
  /// when it is unreachable, is charged to no message.
  bool isCharged = false;
  /// What the peer or the network said; at most 200 bytes.
  std::string error = {};
};

}  // namespace ackbox
