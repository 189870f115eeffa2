#pragma once

#include <chrono>
#include <functional>

#include "ackbox/file_info.hpp"
#include "ackbox/options.hpp"
#include "ackbox/stats.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/names.hpp"
#include "store/postgres/schema/versions.hpp"

namespace ackbox::store::postgres {

/// Makes the schema if it is missing and the options allow it; one process after the other. Throws `schemaMissing`,
/// `schemaTooNew`, `schemaTooOld`, `schemaOutdated`.
void makeSchema(Connection& connection, const OutboxOptions& options, const Schema& schema = currentSchema());

/// The changes that the tables need; none if a program with `schema` may work with them. Throws as `makeSchema`, but
/// not `schemaOutdated`. Waits up to `patience` for a process that has the tables to itself.
[[nodiscard]] MigrationReport neededMigration(Connection& connection, const Schema& schema,
                                              std::chrono::milliseconds patience);

/// Makes these changes in one transaction, which keeps all others out. Waits up to `patience` for a migration by
/// another process, and for each of the transactions that use the tables. `announce` is called before the first change;
/// what it throws ends the migration. Throws `databaseBusy` if a wait was in vain; then, and after any other throw, the
/// tables are as they were.
MigrationReport migrate(Connection& connection, const Schema& schema, std::chrono::milliseconds patience,
                        const std::function<void(const MigrationReport& planned)>& announce);

/// Takes all tables for this transaction alone. Throws `databaseBusy`, and names what it has waited for, if that takes
/// longer than the connection's `lock_timeout`; the transaction has failed then.
void lockTables(Connection& connection);

/// Counts the gauges of the outbox, the inbox and the senders anew. In a transaction, in which it waits for those that
/// count; costs by the number of rows.
void recount(Connection& connection, RepairReport& report);

}  // namespace ackbox::store::postgres
