#pragma once

#include <sqlite3.h>

#include <string_view>

#include "ackbox/stats.hpp"

namespace ackbox::store::sqlite {

/// Counts all gauges anew from the rows, and writes those that are wrong: after foreign statements have changed rows.
/// `byHand`: mends besides what a person's statements leave behind, see `OutboxOperator::repair`.
///
/// In the caller's transaction, which has written all that it remembers, and forgets it afterwards. One pass over the
/// outbox and one over the inbound tables.
RepairReport recount(sqlite3* connection, std::string_view prefix, bool byHand);

/// The same after statements of our own, which is no repair: of the outbox's gauges alone.
void recountGauges(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
