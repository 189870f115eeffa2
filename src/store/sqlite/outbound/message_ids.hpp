#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/random.hpp"
#include "delivery/types.hpp"
#include "store/decisions/uuid.hpp"

namespace ackbox::store::sqlite {

// How a row stores its message's id, and how a message is found by it. A generated id ends in the key of its row and
// begins with the instant of its enqueue (`UuidGenerator`): the row itself serves as the index, and stores only the
// rest of the id, 6 bytes instead of 36. Other ids are stored as text and are in an index: the caller's, and those of
// redriven messages, which have new rows. An index of all ids took a seventh of a row's total cost.

/// A message's id, and how its row stores it.
struct MessageId {
  std::string text;
  /// The part that does not follow from the row's key and instant; nullopt: the row stores the text.
  std::optional<std::int64_t> rest = {};
};

/// The frame's own id, or else one made for the row with `key`, which is enqueued at `now`.
[[nodiscard]] MessageId messageIdFor(const Frame& frame, UuidGenerator& uuids, Random& random, WallTime now,
                                     delivery::MessageKey key);

/// The id of the row that stores `rest`.
[[nodiscard]] std::string messageIdOf(delivery::MessageKey key, WallTime enqueuedAt, std::int64_t rest);

/// SQL: the message id of `o` (#outbox).
inline constexpr std::string_view kMessageId =
    "coalesce(o.message_id,printf('%08x-%04x-7%03x-%04x-%02x%010d',o.created_at_ms+(o.id_rest>>34)>>16,"
    "o.created_at_ms+(o.id_rest>>34)&65535,o.id_rest>>22&4095,32768|(o.id_rest>>8&16383),o.id_rest&255,o.id))";

/// SQL: the key of the message with the id ?1; NULL if no message has it.
[[nodiscard]] std::string keyOfMessage();

}  // namespace ackbox::store::sqlite
