#pragma once

#include <sqlite3.h>

#include <string_view>

#include "ackbox/stats.hpp"

namespace ackbox::store::sqlite {

// Each runs in the caller's transaction; the caller has flushed its caches, and drops them afterwards. Adds what it
// mended to `report`.

/// Mends the damage of manual SQL statements, see `OutboxOperator::repair`: creates missing indexes, and mends rows
/// that break the rules. A recount must follow.
void mendRows(sqlite3* connection, std::string_view prefix, RepairReport& report);

/// Recounts all gauges from the rows, after foreign statements have changed rows, and writes those that are wrong. One
/// pass over the outbox and one over the inbound tables.
void recount(sqlite3* connection, std::string_view prefix, RepairReport& report);

/// The same for the outbox's gauges alone, after ackbox's own statements; not a repair.
void recountGauges(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
