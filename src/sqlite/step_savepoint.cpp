#include "sqlite/step_savepoint.hpp"

#include <string>

namespace ackbox::sqlite {
namespace {

bool succeeds(Statement& statement) noexcept {
  try {
    Query(statement).run();
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

StepSavepoint::StepSavepoint(sqlite3* connection, std::string_view table, std::string_view prefix)
    : connection_(connection),
      begin_(connection, "SAVEPOINT #step", prefix),
      release_(connection, "RELEASE #step", prefix),
      rollbackTo_(connection, "ROLLBACK TO #step", prefix),
      rollbackAll_(connection, "ROLLBACK", prefix),
      changeNothing_(connection, "DELETE FROM " + std::string(table) + " WHERE 0", prefix) {}

void StepSavepoint::begin() {
  Query(begin_).run();
}

void StepSavepoint::rollback() {
  Query(rollbackTo_).run();
  release();
}

void StepSavepoint::release() {
  Query(release_).run();
}

void StepSavepoint::undo() noexcept {
  if (sqlite3_get_autocommit(connection_) != 0) {
    // SQLite has rolled the transaction back, as on a full disk.
    return;
  }
  if (!succeeds(rollbackTo_) || !succeeds(release_)) {
    endTransaction();
  }
}

void StepSavepoint::endTransaction() noexcept {
  if (succeeds(rollbackAll_)) {
    return;
  }
  // While the connection is interrupted no statement runs. But SQLite rolls the transaction back for a statement that
  // writes and is interrupted.
  static_cast<void>(succeeds(changeNothing_));
}

}  // namespace ackbox::sqlite
