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

// SQLite's pages have no checksum, so each row that leaves the file says what it must be. What changes in a row's life
// is left out: its state and what belongs to that.

/// Of a message's row: its place, ids, type and data, and what else its peer is given.
[[nodiscard]] std::int64_t checksumOf(delivery::MessageKey key, const OutboxRow& row) noexcept;

/// SQL: whether the session `s` (#sessions) is not what its unique index says. Which of the two is right is not known.
inline constexpr std::string_view kSessionDiffers =
    "(SELECT t.id FROM #sessions AS t WHERE t.peer_id=s.peer_id AND t.name=s.name AND t.lane=s.lane) IS NOT s.id";

/// The columns of #outbox that `readRow` takes, in its order.
inline constexpr std::string_view kRowColumns =
    "state,sequence,attempt,retry_count,created_at_ms,due_at_ms,expires_at_ms,message_id,id_rest,type,traceparent,"
    "correlation_id,data,not_before_ms,session_id,checksum";
[[nodiscard]] OutboxRow readRow(delivery::MessageKey key, Columns& columns);

/// SQL: when the row `o` (#outbox) was made, as it says once it has moved at the instant ?3. Outside sessions that is
/// later than before, whatever the calendar says.
inline constexpr std::string_view kMovedInstant = "iif(o.sequence=0,max(?3,o.created_at_ms+1),?3)";

/// SQL: its checksum then, with the key ?4 and the number ?2: these three count apart from all else.
[[nodiscard]] std::string movedChecksum();

/// Of a row of the inbox: what its handler is given.
[[nodiscard]] std::int64_t checksumOf(const InboundFrame& frame) noexcept;

/// The columns of #inbox that `readRow` takes, in its order.
inline constexpr std::string_view kInboxColumns =
    "id,starts,retry_count,deferred,accepted_at_ms,origin,session,sequence,frame_id,source,epoch,previous_sequence,"
    "type,audience,time_ms,expires_at_ms,traceparent,correlation_id,data,data_content_type,checksum";
[[nodiscard]] InboxRow readRow(Columns& columns);

/// The rows, 100 of a table at most, that are not what was written.
[[nodiscard]] std::vector<Finding> damagedRows(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
