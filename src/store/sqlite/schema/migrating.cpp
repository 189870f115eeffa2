#include "store/sqlite/schema/migrating.hpp"

#include <string>

#include "ackbox/error.hpp"
#include "ackbox/version.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/schema/schema.hpp"
#include "store/sqlite/schema/versions.hpp"
#include "store/sqlite/schema/views.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

MigrationReport neededMigration(sqlite3* connection, std::string_view prefix) {
  try {
    requireUsable(connection, prefix, false);
  } catch (const Error& error) {
    if (error.code() != Errc::schemaOutdated) {
      throw;
    }
  }
  const SchemaInfo info = schemaInfo(connection, prefix);
  MigrationReport report{.from = info.version, .to = currentSchema().version, .writtenBy = info.writtenBy};
  for (const Migration& migration : currentSchema().migrations) {
    if (migration.from >= info.version) {
      report.changes.emplace_back(migration.change);
    }
  }
  return report;
}

void migrateTables(sqlite3* connection, std::string_view prefix) {
  // A view may name what a migration changes.
  for (const View& view : views(prefix)) {
    execute(connection, "DROP VIEW IF EXISTS " + view.name);
  }
  std::int64_t version = schemaVersion(connection, prefix);
  for (const Migration& migration : currentSchema().migrations) {
    if (migration.from == version) {
      execute(connection, expand(migration.statements, prefix));
      version = migration.to;
    }
  }
  Statement update(connection, "UPDATE #schema SET version=?1, written_by=?2", prefix);
  Query(update, version, kVersion).run();
  restoreObjects(connection, prefix, "view");
  for (const SchemaObject& object : schemaObjects(prefix)) {
    if (stateOf(connection, object) != ObjectState::ours) {
      throw Error(Errc::databaseError, "the migration did not make the " + object.kind + " " + object.name);
    }
  }
}

}  // namespace ackbox::store::sqlite
