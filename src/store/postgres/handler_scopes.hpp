#pragma once

#include <libpq-fe.h>

#include <string>

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
  /// The transaction has ended, and its scopes with it.
  void transactionEnded() noexcept;
  void begin();
  /// The handler has ended. Throws `Error` with `handlerEndedTransaction`: it left the connection of no use.
  void handlerEnded();
  /// Keeps what the scope has changed. Throws `ScopeRefused`: it cannot be kept, and `undo` must follow; or `Error`:
  /// the transaction is lost.
  void release();
  /// Throws `Error`: the transaction is lost.
  void undo();
  /// The connection, for the handler.
  [[nodiscard]] PGconn* lend() noexcept;

private:
  void postRestored();
  void requireOwnLock(bool isHeld);

  Context& context_;
  Owners& owners_;
  int depth_ = 0;
  bool isSynced_ = true;
  std::string waits_;
  // The handler of the scope has had the connection.
  bool isLent_ = false;
};

}  // namespace ackbox::store::postgres
