#include <cstdint>
#include <string>

#include "base/options.hpp"
#include "sqlite/backup.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/snapshot.hpp"
#include "sqlite/transaction.hpp"
#include "store/sqlite/log_keeper.hpp"
#include "store/sqlite/open.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/schema/migrating.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

// In a transaction, which lets no other process become an owner.
void refuseIfInUse(const Connection& connection, Liveness& liveness) {
  // No owner has this number. A process must hold a lock to ask for those of others, and a copied file has no sidecar
  // yet.
  constexpr std::int64_t kNobody = 0;
  liveness.hold(kNobody);
  Statement owners = connection.prepare("SELECT id FROM #owners");
  for (Query query(owners); query.next();) {
    if (liveness.alive(query.integer(0))) {
      throw Error(Errc::alreadyRunning, "another process has the file open");
    }
  }
}

}  // namespace

std::filesystem::path backUpBefore(const std::filesystem::path& file, const MigrationReport& report,
                                   const OutboxOptions& options) {
  const std::string base = file.string() + ".version-" + std::to_string(report.from);
  // A killed process may have left one that is incomplete, and SQLite's files of it.
  const std::string partial = base + ".partial";
  for (const char* end : {"", "-journal", "-wal", "-shm"}) {
    std::filesystem::remove(partial + end);
  }
  ackbox::sqlite::backUp(file, partial, options, {});
  std::string name = base;
  for (int number = 2; std::filesystem::exists(std::filesystem::symlink_status(name)); ++number) {
    name = base + "." + std::to_string(number);
  }
  std::filesystem::rename(partial, name);
  ackbox::sqlite::syncFolderOf(name);
  return name;
}

MigrationReport previewMigration(const std::filesystem::path& file, const OutboxOptions& givenOptions) {
  const OutboxOptions options = validated(givenOptions);
  const ReadConnection connection(file, options);
  return neededMigration(connection.getHandle(), options.tablePrefix);
}

MigrationReport migrateFile(const std::filesystem::path& file, const OutboxOptions& givenOptions,
                            const MigrationSteps& steps) {
  const OutboxOptions options = validated(givenOptions);
  MigrationReport report = previewMigration(file, options);
  if (report.changes.empty()) {
    return report;
  }
  Connection connection(
      file, options, [&options](sqlite3* handle) { static_cast<void>(neededMigration(handle, options.tablePrefix)); });
  sqlite3* const handle = connection.handle();
  const auto liveness =
      kernelLiveness(sqlite::ownersFile(handle, options.tablePrefix), sqlite3_db_filename(handle, "main"));
  LogKeeper logKeeper(connection, options, liveness);
  Transaction transaction(connection);
  // From here on nobody else can write, so that the backup is the file as it was.
  transaction.begin(true);
  try {
    logKeeper.requireFit(true);
    report = neededMigration(handle, options.tablePrefix);
    if (report.changes.empty()) {
      transaction.rollback();
      return report;
    }
    refuseIfInUse(connection, *liveness);
    report.backup = steps.backUp(report);
    steps.announce(report);
    migrateTables(handle, options.tablePrefix);
    transaction.commit();
  } catch (...) {
    transaction.rollback();
    logKeeper.failed();
    throw;
  }
  logKeeper.committed();
  return report;
}

}  // namespace ackbox::store::sqlite
