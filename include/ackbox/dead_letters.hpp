#pragma once

// What reads and changes of dead letters take and give.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "ackbox/message.hpp"

namespace ackbox {

/// Chooses dead letters; what is not set does not restrict, so the default chooses all of them.
struct DeadLetterFilter {
  /// The peer's name.
  std::optional<std::string> peer = {};
  std::optional<std::string> session = {};
  /// The frame's type.
  std::optional<std::string> type = {};
  /// Exactly this reason, such as `retry-budget`.
  std::optional<std::string> reason = {};
  /// The last error has this text in it, in these letters.
  std::optional<std::string> error = {};
  /// Failed at least this long ago. 0 (default): at any time.
  std::chrono::milliseconds olderThan{0};
  /// Only those with fewer charged attempts than this. 0 (default): any number.
  std::uint32_t retriesBelow = 0;
};

/// What became of a change that an operator asked for.
struct ChangeReceipt {
  /// Empty: it is done. `Errc::unknownMessage`: no message has this id. `Errc::invalidTransition`: the message is in
  /// `state`, which does not allow this change. Refusals change nothing.
  std::error_code refusal = {};
  /// Where the message stood when it was asked; meaningless for `unknownMessage`.
  MessageState state = MessageState::failed;
  /// Its place in its session: after `retry` the new one. 0 for `unknownMessage`.
  std::uint64_t sequence = 0;

  [[nodiscard]] bool done() const noexcept { return !refusal; }
};

/// Some dead letters, oldest enqueue first.
struct DeadLetterPage {
  /// In each, `dueAt` is the instant at which it failed.
  std::vector<MessageInfo> messages = {};
  /// Pass as `after` for the next page; 0 on the last page. A page may hold fewer than `limit`, even none, and still be
  /// followed by another: each looks at a bounded number of dead letters.
  std::int64_t next = 0;
  /// How many dead letters were looked at, whether `filter` chose them or not.
  std::size_t looked = 0;
};

}  // namespace ackbox
