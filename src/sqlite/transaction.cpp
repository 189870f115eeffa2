#include "sqlite/transaction.hpp"

#include <SQLiteCpp/Exception.h>

#include <new>
#include <optional>
#include <utility>

namespace ackbox::sqlite {
namespace {

// The errors for which SQLite may roll back a whole transaction by itself.
std::optional<Errc> failureOf(int extendedCode) noexcept {
  switch (extendedCode & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
      return errcOf(extendedCode);
    default:
      return std::nullopt;
  }
}

std::optional<Errc> failureOf(const std::exception_ptr& thrown) noexcept {
  try {
    if (thrown) {
      std::rethrow_exception(thrown);
    }
  } catch (const SQLite::Exception& exception) {
    return failureOf(exception.getExtendedErrorCode());
  } catch (const Error& error) {
    for (const Errc code : {Errc::diskFull, Errc::ioError, Errc::outOfMemory}) {
      if (error.code() == code) {
        return code;
      }
    }
  } catch (const std::bad_alloc&) {
    return Errc::outOfMemory;
  } catch (...) {
    // The exception does not come from SQLite.
  }
  return std::nullopt;
}

}  // namespace

Transaction::Transaction(Connection& connection)
    : connection_(connection),
      begin_(connection.prepare("BEGIN IMMEDIATE")),
      commit_(connection.prepare("COMMIT")),
      rollback_(connection.prepare("ROLLBACK")),
      savepoint_(connection.prepare("SAVEPOINT #scope")),
      releaseSavepoint_(connection.prepare("RELEASE #scope")),
      rollbackTo_(connection.prepare("ROLLBACK TO #scope")),
      dataVersion_(connection.prepare("PRAGMA data_version")) {
  sqlite3_commit_hook(connection_.handle(), &Transaction::onCommit, this);
  sqlite3_rollback_hook(connection_.handle(), &Transaction::onRollback, this);
}

Transaction::~Transaction() {
  sqlite3_commit_hook(connection_.handle(), nullptr, nullptr);
  sqlite3_rollback_hook(connection_.handle(), nullptr, nullptr);
}

bool Transaction::begin(bool fullSync) {
  // The last transaction could not be rolled back for lack of memory.
  if (sqlite3_get_autocommit(connection_.handle()) == 0) {
    Query(rollback_).run();
  }
  if (std::exchange(lost_, false)) {
    // The code that ended the last one may have changed the settings, too.
    connection_.doubtSync();
  }
  connection_.setFullSync(fullSync);
  Query(begin_).run();
  open_ = true;
  guarded_ = false;
  try {
    const std::int64_t version = dataVersion();
    const bool changed = std::exchange(isDoubtful_, false) || version != seenVersion_;
    seenVersion_ = version;
    return changed;
  } catch (...) {
    rollback();
    throw;
  }
}

void Transaction::commit() {
  requireOwn();
  try {
    Query(commit_).run();
  } catch (const Error& error) {
    if (error.code() == Errc::ioError) {
      // The sync may have failed.
      connection_.doubtLog();
    }
    throw;
  }
  open_ = false;
}

void Transaction::rollback() noexcept {
  guarded_ = false;
  open_ = false;
  if (sqlite3_get_autocommit(connection_.handle()) == 0) {
    try {
      Query(rollback_).run();
    } catch (...) {
      // After an I/O error there is nothing to undo. If there was no memory, even for the error's text, the next
      // transaction begins with the rollback.
    }
  }
}

void Transaction::savepoint() {
  requireOwn();
  Query(savepoint_).run();
}

void Transaction::releaseSavepoint() {
  requireOwn();
  Query(releaseSavepoint_).run();
}

void Transaction::rollbackToSavepoint() {
  requireOwn();
  Query(rollbackTo_).run();
  Query(releaseSavepoint_).run();
}

void Transaction::guard(bool on) noexcept {
  guarded_ = on;
}

bool Transaction::lost() const noexcept {
  return lost_ || (open_ && sqlite3_get_autocommit(connection_.handle()) != 0);
}

// SQLite's hooks do not get the reason. The exception has it, or else the connection's latest error; if a later
// statement of the foreign code replaced that error, the transaction counts as ended by that code.
Errc Transaction::whyLost(const std::exception_ptr& thrown) const noexcept {
  const std::optional<Errc> said = failureOf(thrown);
  return said ? *said
              : failureOf(sqlite3_extended_errcode(connection_.handle())).value_or(Errc::handlerEndedTransaction);
}

std::int64_t Transaction::dataVersion() {
  Query query(dataVersion_);
  query.next();
  return query.integer(0);
}

int Transaction::onCommit(void* self) {
  auto& transaction = *static_cast<Transaction*>(self);
  transaction.lost_ = transaction.lost_ || transaction.guarded_;
  // Vetoed: SQLite turns the COMMIT into a ROLLBACK.
  return transaction.guarded_ ? 1 : 0;
}

void Transaction::onRollback(void* self) {
  auto& transaction = *static_cast<Transaction*>(self);
  // Stays set even if the handler begins a new transaction afterwards.
  transaction.lost_ = transaction.lost_ || transaction.guarded_;
}

void Transaction::requireOwn() const {
  if (lost()) {
    throw Error(Errc::handlerEndedTransaction, "the transaction was ended by foreign code");
  }
}

}  // namespace ackbox::sqlite
