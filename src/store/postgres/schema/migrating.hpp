#pragma once

#include "ackbox/options.hpp"
#include "ackbox/stats.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/names.hpp"

namespace ackbox::store::postgres {

/// The version of the tables and functions that this release makes and uses: it rises with each change of theirs, as a
/// database keeps those that it has.
inline constexpr int kSchemaVersion = 2;

/// Makes the schema if it is missing and the options allow it; one process after the other. Throws `schemaMissing`,
/// `schemaTooNew`, `schemaTooOld`.
void makeSchema(Connection& connection, const OutboxOptions& options);

/// Throws `schemaMissing`, `schemaTooNew`, `schemaTooOld` where there are other tables than this release's, or none.
void requireSchema(Connection& connection);

/// Counts the gauges of the outbox, the inbox and the senders anew. In a transaction, in which it waits for those that
/// count; costs by the number of rows.
void recount(Connection& connection, RepairReport& report);

}  // namespace ackbox::store::postgres
