#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/diagnosis.hpp"

#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/cache/claim_cache.hpp"
#include "store/sqlite/sqlite_names.hpp"
#include "store/types.hpp"

namespace ackbox::store::sqlite {

// SQLite's pages have no checksum, so each row that is sent or handed to a handler has one. It leaves out the changing
// fields: the state and the fields that depend on it.

/// The checksum of a message's row: its place, ids, type and data, and all other fields that its peer gets.
[[nodiscard]] std::int64_t checksumOf(delivery::MessageKey key, const OutboxRow& row) noexcept;

/// SQL: whether the session `s` (#sessions) differs from its unique index. It is not known which of the two is right.
inline constexpr std::string_view kSessionDiffers =
    "(SELECT t.id FROM #sessions AS t WHERE t.peer_id=s.peer_id AND t.name=s.name AND t.lane=s.lane) IS NOT s.id";

/// The columns of #outbox that `readRow` takes, in its order.
inline constexpr std::string_view kRowColumns =
    "state,sequence,attempt,retry_count,created_at_ms,due_at_ms,expires_at_ms,message_id,id_rest,type,traceparent,"
    "correlation_id,resent_of,data,not_before_ms,session_id,checksum";
[[nodiscard]] OutboxRow readRow(delivery::MessageKey key, Columns& columns);

/// SQL: the creation instant of the row `o` (#outbox) after it has moved at the instant ?3. Outside sessions it is
/// later than before, regardless of the clock.
inline constexpr std::string_view kMovedInstant = "iif(o.sequence=0,max(?3,o.created_at_ms+1),?3)";

/// The summand of a message's `resent_of` in its row's checksum.
[[nodiscard]] std::int64_t checksumOfResent(std::string_view id) noexcept;

/// SQL: the checksum of that row, with the key ?4 and the number ?2, and, if it had no `resent_of`, with one that has
/// the summand ?7: these four are separate summands.
[[nodiscard]] std::string movedChecksum();

/// The checksum of a row of the inbox: all fields that its handler gets.
[[nodiscard]] std::int64_t checksumOf(const InboundFrame& frame) noexcept;

/// The columns of #inbox that `readRow` takes, in its order.
inline constexpr std::string_view kInboxColumns =
    "id,starts,retry_count,deferred,accepted_at_ms,origin,session,sequence,frame_id,source,epoch,previous_sequence,"
    "type,audience,time_ms,expires_at_ms,traceparent,correlation_id,resent_of,data,data_content_type,checksum";
[[nodiscard]] InboxRow readRow(Columns& columns);

/// The rows that are not what was written, at most 100 per table.
[[nodiscard]] std::vector<Finding> damagedRows(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
