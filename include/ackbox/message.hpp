#pragma once

#include <cstdint>
#include <string_view>

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

}  // namespace ackbox
