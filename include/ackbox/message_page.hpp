#pragma once

// What `OutboxReader::messages` takes and gives.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/message.hpp"

namespace ackbox {

/// Chooses messages; what is not set does not restrict, so the default chooses all that are in the file.
struct MessageFilter {
  std::optional<MessageState> state = {};
  /// The peer's name.
  std::optional<std::string> peer = {};
  std::optional<std::string> session = {};
  /// The frame's type.
  std::optional<std::string> type = {};
};

/// Some messages, in the order of their enqueues' commits.
struct MessagePage {
  std::vector<MessageInfo> messages = {};
  /// Pass as `after` for the next page; 0 on the last page. A page may hold fewer than `limit`, even none, and still be
  /// followed by another: each looks at a bounded number of rows.
  std::int64_t next = 0;
};

}  // namespace ackbox
