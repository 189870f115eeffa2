#pragma once

// Types for reading and changing dead letters.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "ackbox/message.hpp"

namespace ackbox {

/// Selects dead letters; a field that is not set does not restrict, so the default selects all of them.
struct DeadLetterFilter {
  /// The peer's name.
  std::optional<std::string> peer = {};
  std::optional<std::string> session = {};
  /// The frame's type.
  std::optional<std::string> type = {};
  /// Exactly this reason, such as `retry-budget`.
  std::optional<std::string> reason = {};
  /// The last error contains this text; case-sensitive.
  std::optional<std::string> error = {};
  /// The last error is like this one: equal to it where words with digits, such as numbers and ids, count as equal. The
  /// status in `HTTP 404` counts.
  std::optional<std::string> errorLike = {};
  /// Failed at least this long ago. 0 (default): at any time.
  std::chrono::milliseconds olderThan{0};
  /// Only those with fewer charged attempts than this. 0 (default): any number.
  std::uint32_t retriesBelow = 0;
};

/// The result of an operator's change.
struct ChangeReceipt {
  /// Empty: the change was made. `Errc::unknownMessage`: no message has this id. `Errc::invalidTransition`: the message
  /// is in `state`, which does not allow this change. Refusals change nothing.
  std::error_code refusal = {};
  /// The message's state when the change was requested; meaningless for `unknownMessage`.
  MessageState state = MessageState::failed;
  /// Its sequence; after `retry` the new one. 0 for `unknownMessage`.
  std::uint64_t sequence = 0;

  [[nodiscard]] bool done() const noexcept { return !refusal; }
};

/// A page of dead letters, oldest enqueue first.
struct DeadLetterPage {
  /// In each, `dueAt` is the instant at which it failed.
  std::vector<MessageInfo> messages = {};
  /// Pass as `after` for the next page; 0 on the last page. A page may hold fewer than `limit`, even none, and still be
  /// followed by another, because each page reads a bounded number of dead letters.
  std::int64_t next = 0;
  /// The number of dead letters read, whether they match `filter` or not.
  std::size_t looked = 0;
};

}  // namespace ackbox
