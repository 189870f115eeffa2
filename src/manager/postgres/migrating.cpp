#include <string>
#include <utility>

#include "ackbox/postgres.hpp"
#include "base/options.hpp"
#include "manager/log/log.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/schema/migrating.hpp"
#include "store/postgres/schema/new_store.hpp"

// What changes all tables of an outbox in PostgreSQL at once.

namespace ackbox {

using postgres::Connection;
using store::postgres::currentSchema;

MigrationReport migrateDatabase(const PostgresLocation& location, OutboxOptions givenOptions,
                                const std::function<void(const MigrationReport&)>& announce) {
  const OutboxOptions options = validated(std::move(givenOptions));
  manager::Log log(options.log, options.logLevel, options.clock);
  const auto write = [&](std::string_view event, const MigrationReport& report, const std::string& text) {
    log.write(LogLevel::info, event, text,
              {{"file", postgres::nameOf(location.text)},
               {"from", std::to_string(report.from)},
               {"to", std::to_string(report.to)},
               {"backup", ""}});
  };
  Connection connection(location.text);
  MigrationReport report =
      store::postgres::migrate(connection, currentSchema(), options.busyTimeout, [&](const MigrationReport& planned) {
        write("migration-begins", planned, "the tables are changed in one transaction; no copy was made");
        if (announce) {
          announce(planned);
        }
      });
  if (!report.changes.empty()) {
    write("migrated", report, "the tables have this release's version");
  }
  return report;
}

MigrationReport previewMigration(const PostgresLocation& location, OutboxOptions givenOptions) {
  const OutboxOptions options = validated(std::move(givenOptions));
  Connection connection(location.text);
  return store::postgres::neededMigration(connection, currentSchema(), options.busyTimeout);
}

NewStoreReport makeNewStore(const PostgresLocation& location, OutboxOptions givenOptions) {
  const OutboxOptions options = validated(std::move(givenOptions));
  Connection connection(location.text);
  return store::postgres::makeNewStore(connection, currentSchema(), *options.random, options.busyTimeout);
}

}  // namespace ackbox
