#pragma once

// Types for a program that claims messages itself instead of letting `start` deliver them.

#include <cstdint>
#include <string>
#include <string_view>

#include "ackbox/sender.hpp"

namespace ackbox {

/// Identifies a claim; a settle is checked against it. Has no meaning in another process.
struct ClaimToken {
  /// Counts the claims of this manager, from 1.
  std::uint64_t number = 0;
  /// The open file that made the claim; never reused.
  std::int64_t owner = 0;
  /// Counts the claims of the message.
  std::uint32_t attempt = 0;
};

/// One message taken with `PullConsumer::claim`. It is the caller's alone until it is settled or released, until
/// `recoverStuck` or `stop` takes it back, or until this process ends. A claim has no timeout, so there is nothing to
/// extend.
struct Claim {
  ClaimToken token = {};
  std::string peer = {};
  OutboundFrame frame = {};
};

/// The outcome of one claimed message; see `PullConsumer::settleAll`.
struct ClaimResult {
  ClaimToken token = {};
  /// `ack`, `defer`, `nack` or `term`, with its details. For a `nack` with a `detail`, only the `code` of a limit is
  /// kept, see `FrameResult::code`.
  FrameResult result = {};
};

/// The effect of a settle.
enum class SettleStatus : std::uint8_t {
  /// The outcome was applied to the message.
  settled,
  /// Too late, and benign: the claim had been taken back (`recoverStuck`, `stop`), or the message was settled in
  /// another way, such as by an ACK event. Nothing was changed.
  late,
};

[[nodiscard]] std::string_view toString(SettleStatus status) noexcept;

/// The result of `PullConsumer::recoverStuck`.
struct RecoverReport {
  /// Claims of this manager that were taken back.
  std::uint64_t claims = 0;
  /// Processes that were found dead; the messages that they had in flight can be claimed again.
  std::uint64_t deadOwners = 0;
};

}  // namespace ackbox
