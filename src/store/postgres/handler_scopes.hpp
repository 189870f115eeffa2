#pragma once

#include <libpq-fe.h>

#include <optional>
#include <string>

#include "ackbox/clock.hpp"
#include "store/postgres/context.hpp"
#include "store/postgres/peers/owners.hpp"

namespace ackbox::store::postgres {

/// The nested scopes of a transaction, in which handlers run on the store's own connection. What a handler does to the
/// connection ends with its scope, and what it leaves to be checked at the commit is checked at the scope's end.
class HandlerScopes {
public:
  HandlerScopes(Context& context, Owners& owners) : context_(context), owners_(owners) {}

  /// A transaction has begun. `waits`: the statement that limits how long its own statements wait for a lock.
  void transactionBegun(bool isSynced, std::string waits);
  /// The transaction has ended, and its scopes with it. If a handler ended it, or it ended within a handler, nobody
  /// knows what the connection is like: it is dropped.
  void transactionEnded() noexcept;
  void begin();
  /// The handler has ended. Throws `Error` with `handlerEndedTransaction`: it left the connection of no use.
  void handlerEnded();
  /// Keeps what the scope has changed. Throws `ScopeRefused`: it cannot be kept, and `undo` must follow; or `Error`:
  /// the transaction is lost.
  void release();
  /// Throws `Error`: the transaction is lost.
  void undo();
  /// The connection, for the handler of the scope.
  [[nodiscard]] PGconn* lend() noexcept;
  /// Whether the handler of the scope has had the connection.
  [[nodiscard]] bool isLent() const noexcept { return isLent_; }

private:
  [[nodiscard]] std::string restoring();
  /// Runs the statements, of which the last one is `whatIsLeft`. Throws `Error` if the process has no lock any more.
  void finish(const std::string& statements);
  [[nodiscard]] std::string whatIsLeft() const;

  Context& context_;
  Owners& owners_;
  int depth_ = 0;
  bool isSynced_ = true;
  std::string waits_;
  bool isLent_ = false;
  // SQL: the constraints that begin as deferred are deferred again; and when it was made.
  std::string deferring_;
  std::optional<SteadyTime> deferringAt_;
};

}  // namespace ackbox::store::postgres
