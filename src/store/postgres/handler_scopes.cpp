#include "store/postgres/handler_scopes.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "ackbox/error.hpp"
#include "store/failure.hpp"
#include "store/postgres/lock_wait.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {
namespace {

// SQL: undoes what `SET CONSTRAINTS ALL IMMEDIATE` has set, for the rest of the transaction.
constexpr const char* kDeferring =
    "SELECT coalesce((SELECT 'SET CONSTRAINTS '||"
    "pg_catalog.string_agg(pg_catalog.format('%I.%I',n.nspname,c.conname),',')||' DEFERRED;' FROM "
    "pg_catalog.pg_constraint AS c JOIN pg_catalog.pg_namespace AS n ON n.oid=c.connamespace WHERE c.condeferred AND "
    "NOT pg_catalog.pg_is_other_temp_schema(n.oid) AND pg_catalog.has_schema_privilege(n.oid,'USAGE')),'')";

// A handler's savepoints have names of its own choice.
std::string scopeName(int depth) {
  return "ackbox_scope_" + std::to_string(depth);
}

}  // namespace

void HandlerScopes::transactionBegun(bool isSynced, std::string waits) {
  depth_ = 0;
  isSynced_ = isSynced;
  waits_ = std::move(waits);
}

void HandlerScopes::transactionEnded() noexcept {
  depth_ = 0;
  if (std::exchange(isLent_, false)) {
    context_.connection.drop();
  }
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

// Deferred constraints are checked as the handler has left the session: what comes before the restoration is the
// handler's, and nothing of it is left for the commit. A trigger that runs in these checks may defer what it breaks
// itself, so they are made twice.
std::string HandlerScopes::restoring() {
  std::string statements =
      "SET CONSTRAINTS ALL IMMEDIATE;SET CONSTRAINTS ALL IMMEDIATE;CLOSE ALL;DISCARD TEMP;UNLISTEN *;"
      "RESET SESSION AUTHORIZATION;RESET ROLE;";
  constexpr std::chrono::seconds kKnown(1);
  const SteadyTime now = context_.clock.steadyNow();
  if (!deferringAt_ || now - *deferringAt_ >= kKnown) {
    // After the role, without which some schemas may not be looked into.
    deferring_ = context_.connection.execute(std::exchange(statements, {}) + kDeferring).front().text(0);
    deferringAt_ = now;
  }
  statements += "RESET ALL;" + std::string(Connection::settings()) + ";" +
                setLockWait("", context_.options.busyTimeout) + ";" + deferring_;
  if (!isSynced_) {
    statements += "SET LOCAL synchronous_commit=off;";
  }
  return statements;
}

std::string HandlerScopes::whatIsLeft() const {
  return "SELECT " + owners_.whetherHeld() +
         ",(SELECT count(*) FROM pg_catalog.pg_prepared_statements WHERE name LIKE '" +
         std::string(Connection::kNames) + "%')";
}

// Without the lock, other processes take this one for dead. It begins again as another owner, without this handler.
void HandlerScopes::finish(const std::string& statements) {
  Connection& connection = context_.connection;
  const Result left = connection.execute(statements + whatIsLeft());
  connection.notePrepared(left.front().as<std::size_t>(1));
  if (left.front().integer(0) == 0) {
    connection.drop();
    throw Error(Errc::handlerEndedTransaction, "the handler released the advisory locks of the connection");
  }
}

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
      connection.runPosted();
      const std::string statements = restoring();
      finish(statements + release + ";");
    } catch (const Error& error) {
      deferringAt_.reset();
      if (!connection.hasFailed() || error.code() == Errc::handlerEndedTransaction) {
        throw;
      }
      throw ScopeRefused(circumstancesOf(std::current_exception()));
    }
  }
  isLent_ = false;
  --depth_;
  connection.post(waits_);
}

// The rollback takes back what was set. It does not bring locks and prepared statements back.
void HandlerScopes::undo() {
  Connection& connection = context_.connection;
  const std::string name = scopeName(depth_);
  const std::string statements = "ROLLBACK TO " + name + ";RELEASE " + name;
  connection.forgetPosted();
  if (isLent_) {
    finish(statements + ";");
  } else {
    connection.execute(statements);
  }
  connection.forgetOthers();
  isLent_ = false;
  --depth_;
}

PGconn* HandlerScopes::lend() noexcept {
  isLent_ = depth_ > 0;
  return context_.connection.handle();
}

}  // namespace ackbox::store::postgres
