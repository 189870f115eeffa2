#include "store/postgres/handler_scopes.hpp"

#include <exception>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "store/failure.hpp"
#include "store/postgres/lock_wait.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {
namespace {

// A handler's savepoints have names of its own choice.
std::string scopeName(int depth) {
  return "ackbox_scope_" + std::to_string(depth);
}

// Whether the server refused what the handler has done, rather than failed itself, lost a race or ended the scope.
bool isHandlersOwn(std::string_view sqlState) {
  const std::string_view kind = sqlState.substr(0, 2);
  for (const std::string_view other : {"", "08", "3B", "40", "53", "55", "57", "58", "XX"}) {
    if (kind == other) {
      return false;
    }
  }
  return true;
}

}  // namespace

void HandlerScopes::transactionBegun(bool isSynced, std::string waits) {
  depth_ = 0;
  isSynced_ = isSynced;
  waits_ = std::move(waits);
}

void HandlerScopes::transactionEnded() noexcept {
  depth_ = 0;
  isLent_ = false;
}

void HandlerScopes::begin() {
  Connection& connection = context_.connection;
  isLent_ = false;
  connection.post("SAVEPOINT " + scopeName(++depth_));
  // A handler's statements are planned as on any connection. All work of the process waits while they wait for a lock.
  connection.post(setLockWait("LOCAL ", context_.options.busyTimeout));
  connection.planFreely();
  connection.runPosted();
}

void HandlerScopes::handlerEnded() {
  if (isLent_ && !context_.connection.takeBack()) {
    context_.connection.drop();
    throw Error(Errc::handlerEndedTransaction,
                "the handler reset the connection, or left it in pipeline mode or within a COPY");
  }
}

// The settings of the session and of the transaction, as they were before the handler.
void HandlerScopes::postRestored() {
  Connection& connection = context_.connection;
  connection.restoreSettings();
  connection.post(setLockWait("", context_.options.busyTimeout));
  if (!isSynced_) {
    connection.post("SET LOCAL synchronous_commit=off");
  }
}

// Deferred constraints are checked in a scope of their own, which is undone: each stays deferred for other handlers,
// and is checked again at the commit.
void HandlerScopes::release() {
  Connection& connection = context_.connection;
  if (connection.hasFailed()) {
    throw ScopeRefused("a statement in the handler's transaction failed, and its answer does not say so");
  }
  const std::string release = "RELEASE " + scopeName(depth_);
  if (!isLent_) {
    connection.planByIndex();
    connection.execute(release);
  } else {
    try {
      connection.post("SAVEPOINT ackbox_checked");
      connection.post("SET CONSTRAINTS ALL IMMEDIATE");
      connection.post("ROLLBACK TO ackbox_checked");
      postRestored();
      owners_.askWhetherHeld();
      connection.ask(release);
      requireOwnLock(connection.collect(2).front().front().integer(0) != 0);
    } catch (const Error&) {
      if (!connection.hasFailed() || !isHandlersOwn(connection.failedState())) {
        throw;
      }
      connection.forgetOthers();
      throw ScopeRefused(circumstancesOf(std::current_exception()));
    }
  }
  isLent_ = false;
  --depth_;
  connection.post(waits_);
}

void HandlerScopes::undo() {
  Connection& connection = context_.connection;
  const std::string name = scopeName(depth_--);
  connection.forgetPosted();
  if (!std::exchange(isLent_, false)) {
    connection.execute("ROLLBACK TO " + name + ";RELEASE " + name);
    return;
  }
  connection.execute("ROLLBACK TO " + name);
  bool isHeld = true;
  try {
    owners_.askWhetherHeld();
    isHeld = connection.collect(1).front().front().integer(0) != 0;
  } catch (const Error&) {
    if (!connection.hasFailed()) {
      throw;
    }
    // Prepared statements have gone; by now that is known.
    connection.execute("ROLLBACK TO " + name);
  }
  requireOwnLock(isHeld);
  connection.execute("RELEASE " + name);
}

// Without the lock, other processes take this one for dead. It begins again as another owner, without this handler.
void HandlerScopes::requireOwnLock(bool isHeld) {
  if (!isHeld) {
    context_.connection.drop();
    throw Error(Errc::handlerEndedTransaction, "the handler released the advisory locks of the connection");
  }
}

PGconn* HandlerScopes::lend() noexcept {
  isLent_ = true;
  return context_.connection.handle();
}

}  // namespace ackbox::store::postgres
