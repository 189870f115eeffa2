#pragma once

#include <string>

#include "postgres/connection.hpp"
#include "store/postgres/names.hpp"
#include "store/postgres/schema/versions.hpp"

namespace ackbox::store::postgres {

/// What the database says of its tables. A statement that reads it keeps migrations out until the end of its
/// transaction, because a migration locks the row's table first. Each transaction reads it before all else.
struct TablesVersion {
  int version = 0;
  int least = 0;
  std::string writtenBy;
};

/// Throws `schemaMissing`, and `schemaTooOld` for tables of a build before the first release.
[[nodiscard]] TablesVersion versionOf(Connection& connection);

/// The same where the tables are there, inside a transaction. Throws `databaseBusy` where they have been migrated since
/// the transaction's snapshot was taken.
[[nodiscard]] TablesVersion versionInTransaction(Connection& connection);

/// Throws `schemaTooNew` and `schemaOutdated` where a program with `schema` may not work with tables of this version.
void requireFit(const TablesVersion& found, const Schema& schema);

/// For a statement that reads only `least`, because nobody goes back to earlier tables meanwhile: throws
/// `schemaTooNew`.
void requireLeast(Connection& connection, int least, const Schema& schema);

}  // namespace ackbox::store::postgres
