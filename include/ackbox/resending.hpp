#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include "ackbox/message.hpp"
#include "ackbox/receipt.hpp"

// Results of what an operator sends again as new messages.

namespace ackbox {

/// The result of `OutboxOperator::resendTo`, and of `resendAsNew` for a filter.
struct ResendReport {
  /// New messages.
  std::uint64_t stored = 0;
  /// Messages that an earlier call has stored.
  std::uint64_t repeated = 0;
  /// Why the call ended before the last message, such as a full outbox, in a sentence: call it again later. Empty: it
  /// did not.
  std::string refusal = {};
  /// How an enqueue of that message was refused; `stored`: none was.
  EnqueueStatus refusedAs = EnqueueStatus::stored;
};

/// The result of `OutboxOperator::resendAsNew` for one message.
struct ResendReceipt {
  /// `Errc::unknownMessage`: no message has this id. `Errc::invalidTransition`: the message is in `state`, which is not
  /// acknowledged, or it has expired, or its row is damaged. Then nothing was stored.
  std::error_code refusal = {};
  /// The message's state; meaningless for `unknownMessage`.
  MessageState state = MessageState::failed;
  /// The new message, or why it was not stored: `duplicate` names the one that an earlier call has stored. Meaningless
  /// with a `refusal`.
  EnqueueReceipt copy = {};

  [[nodiscard]] bool done() const noexcept { return !refusal && copy.isNew(); }
};

}  // namespace ackbox
