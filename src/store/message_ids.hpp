#pragma once

#include <string_view>

#include "delivery/types.hpp"

namespace ackbox::store {

// How a message is found by its id. An id of our own making ends in the key of its row (`UuidGenerator`), so that the
// row itself is the index. Only ids that do not are in one, and their rows are marked as `named`: the caller's, and
// those of redriven messages, whose rows are new. An index of all ids took a seventh of a row's life.

/// Whether the row with `key` is found without the index.
[[nodiscard]] bool saysKey(std::string_view messageId, delivery::MessageKey key) noexcept;

/// SQL: the key of the message whose id is ?1; NULL: there is none.
inline constexpr std::string_view kKeyOfMessage =
    "(SELECT id FROM #outbox WHERE id=CAST(substr(?1,-10) AS INTEGER) AND message_id=?1 UNION ALL "
    "SELECT id FROM #outbox INDEXED BY #outbox_named WHERE message_id=?1 AND named=1)";

}  // namespace ackbox::store
