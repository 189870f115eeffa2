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

}  // namespace ackbox::store::sqlite
