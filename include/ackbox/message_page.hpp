#pragma once

// The filter and the result of `OutboxReader::messages`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/message.hpp"

namespace ackbox {

/// Selects messages; a field that is not set does not restrict, so the default selects all in the file.
struct MessageFilter {
  std::optional<MessageState> state = {};
  /// The peer's name.
  std::optional<std::string> peer = {};
  std::optional<std::string> session = {};
  /// The frame's type.
  std::optional<std::string> type = {};
  /// The session or the type is this, or the last error contains it; case-sensitive.
  std::optional<std::string> text = {};
  /// Enqueued at this instant or later. A message that was redriven counts as enqueued then.
  std::optional<WallTime> since = {};
  /// Enqueued before this instant.
  std::optional<WallTime> before = {};
  /// The newest first: pages go from the newest message to the oldest. For `OutboxReader::messages` only. Default: the
  /// oldest first.
  bool isNewestFirst = false;
};

/// A page of messages, in the order in which their enqueues were committed, or in the opposite order.
struct MessagePage {
  std::vector<MessageInfo> messages = {};
  /// Pass as `after` for the next page; 0 on the last page. A page may hold fewer than `limit`, even none, and still be
  /// followed by another, because each page reads a bounded number of rows.
  std::int64_t next = 0;
};

}  // namespace ackbox
