#pragma once

#include <sqlite3.h>

#include <string_view>

#include "ackbox/stats.hpp"

namespace ackbox::store::sqlite {

// Each in the caller's transaction, which has written all that it remembers, and forgets it afterwards. What was mended
// is added to `report`.

/// Mends what a person's statements leave behind, see `OutboxOperator::repair`: makes missing indexes, and does what
/// the rules say of the rows that break them. A recount has to follow.
void mendRows(sqlite3* connection, std::string_view prefix, RepairReport& report);

/// Counts all gauges anew from the rows, and writes those that are wrong: after foreign statements have changed rows.
/// One pass over the outbox and one over the inbound tables.
void recount(sqlite3* connection, std::string_view prefix, RepairReport& report);

/// The same after statements of our own, which is no repair: of the outbox's gauges alone.
void recountGauges(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
