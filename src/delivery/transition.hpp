#pragma once

#include <cstdint>
#include <string_view>

#include "ackbox/message.hpp"

namespace ackbox::delivery {

/// Everything that can happen to a message after it was stored.
enum class Transition : std::uint8_t {
  /// A process takes it to send it.
  claim,
  /// The peer took it into effect: an inline answer, an ACK event, or an early ACK.
  ack,
  /// The peer stored it durably and will acknowledge later.
  defer,
  /// Back to pending with the attempt charged: a nack, or a deferred message that the peer asks for again.
  retry,
  /// Back to pending, nothing charged: the peer was away, the owner died or stopped; or the deadline of a deferred ACK
  /// has passed, and the peer is asked.
  release,
  /// Given up: rejected, budget or horizon spent, expired, or marked by hand.
  fail,
  /// A dead letter is put back at its session's tail.
  redrive,
  /// A dead letter is thrown away by hand.
  discard,
  /// The peer has forgotten what it acknowledged: sent again under its number.
  resend,
};

/// Where a transition leads.
enum class Next : std::uint8_t { illegal, pending, sending, sent, acked, failed, gone };

/// The one transition table. `illegal` for every pair that it does not contain.
[[nodiscard]] Next next(MessageState from, Transition transition) noexcept;

[[nodiscard]] std::string_view toString(Transition transition) noexcept;

}  // namespace ackbox::delivery
