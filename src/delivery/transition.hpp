#pragma once

#include <cstdint>
#include <string_view>

#include "ackbox/message.hpp"

namespace ackbox::delivery {

/// The changes of a message's state after it was stored.
enum class Transition : std::uint8_t {
  /// A process claims the message to send it.
  claim,
  /// The peer has applied it: an inline answer, an ACK event, or an early ACK.
  ack,
  /// The peer stored it durably and will acknowledge later.
  defer,
  /// Back to pending with the attempt charged: a nack, or a deferred message that the peer asks for again.
  retry,
  /// Back to pending, uncharged: the peer was away, the owner died or stopped, or the ACK deadline has passed and the
  /// peer is asked again.
  release,
  /// Given up: rejected, retries or horizon used up, expired, or failed by an operator.
  fail,
  /// A dead letter is put back at the tail of its session.
  redrive,
  /// A dead letter is discarded by an operator.
  discard,
  /// The peer has lost a message that it acknowledged: it is sent again under its sequence.
  resend,
  /// An operator sends an acknowledged message once more: it is put at the tail of its session.
  repeat,
};

/// The state after a transition.
enum class Next : std::uint8_t { illegal, pending, sending, sent, acked, failed, gone };

/// The transition table; `illegal` for every pair that it does not contain.
[[nodiscard]] Next next(MessageState from, Transition transition) noexcept;

[[nodiscard]] std::string_view toString(Transition transition) noexcept;

}  // namespace ackbox::delivery
