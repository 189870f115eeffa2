#pragma once

// What a program takes and gives that claims messages by itself instead of letting `start` deliver them.

#include <cstdint>
#include <string>
#include <string_view>

#include "ackbox/sender.hpp"

namespace ackbox {

/// Which claim it is: the guard of its settle. Means nothing in another process.
struct ClaimToken {
  /// Counts the claims of this manager, from 1.
  std::uint64_t number = 0;
  /// The open file that claimed; never used twice.
  std::int64_t owner = 0;
  /// Counts the claims of the message.
  std::uint32_t attempt = 0;
};

/// One message taken with `PullConsumer::claim`: the caller's alone until it is settled or released, until
/// `recoverStuck` or `stop` takes it back, or until this process ends. No lease clock runs, so there is nothing to
/// extend.
struct Claim {
  ClaimToken token = {};
  std::string peer = {};
  OutboundFrame frame = {};
};

/// What became of one claimed message; see `PullConsumer::settleAll`.
struct ClaimResult {
  ClaimToken token = {};
  /// `ack`, `defer`, `nack` or `term`, with what goes with it. Of a `nack` with a `detail`, only the
  /// `code` of a limit is kept, see `FrameResult::code`.
  FrameResult result = {};
};

/// What a settle did.
enum class SettleStatus : std::uint8_t {
  /// The message is where the outcome leads.
  settled,
  /// Too late, and benign: the claim was taken back before (`recoverStuck`, `stop`), or the message was settled by
  /// another way, such as an ACK event. Nothing was changed.
  late,
};

[[nodiscard]] std::string_view toString(SettleStatus status) noexcept;

/// What `PullConsumer::recoverStuck` found.
struct RecoverReport {
  /// Claims of this manager that were taken back.
  std::uint64_t claims = 0;
  /// Processes that were found dead; what they had in flight is back in play.
  std::uint64_t deadOwners = 0;
};

}  // namespace ackbox
