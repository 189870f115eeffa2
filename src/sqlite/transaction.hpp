#pragma once

#include <cstdint>
#include <exception>

#include "ackbox/error.hpp"
#include "sqlite/connection.hpp"

namespace ackbox::sqlite {

/// The write transaction of the store's connection, and the guard that keeps handlers from ending it.
///
/// Thread-safety: none.
class Transaction {
public:
  explicit Transaction(Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// BEGIN IMMEDIATE. Returns whether another connection has committed since the last `begin`.
  bool begin(bool fullSync);
  void commit();
  void rollback() noexcept;
  [[nodiscard]] bool open() const noexcept { return open_; }

  void savepoint();
  void releaseSavepoint();
  void rollbackToSavepoint();

  void guard(bool on) noexcept;
  [[nodiscard]] bool lost() const noexcept;
  /// Why a lost transaction ended: `handlerEndedTransaction`, or the error for which SQLite rolled it back by itself.
  /// Call it right after the foreign code; `thrown` is that code's exception, or null.
  [[nodiscard]] Errc whyLost(const std::exception_ptr& thrown) const noexcept;

  /// Changes whenever another connection commits; as of the last `begin`.
  [[nodiscard]] std::int64_t seenVersion() const noexcept { return seenVersion_; }
  /// Makes the next `begin` return that other connections have committed.
  void doubtVersion() noexcept { isDoubtful_ = true; }

private:
  [[nodiscard]] std::int64_t dataVersion();
  static int onCommit(void* self);
  static void onRollback(void* self);
  void requireOwn() const;

  Connection& connection_;
  Statement begin_;
  Statement commit_;
  Statement rollback_;
  Statement savepoint_;
  Statement releaseSavepoint_;
  Statement rollbackTo_;
  Statement dataVersion_;
  std::int64_t seenVersion_ = -1;
  bool isDoubtful_ = false;
  bool open_ = false;
  bool guarded_ = false;
  bool lost_ = false;
};

}  // namespace ackbox::sqlite
