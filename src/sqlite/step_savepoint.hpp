#pragma once

#include <sqlite3.h>

#include <string_view>

#include "sqlite/statement.hpp"

namespace ackbox::sqlite {

/// A savepoint around one step in a transaction of others: the step stays whole, or nothing of it does.
///
/// Thread-safety: that of the connection. Must be destroyed before it.
class StepSavepoint {
public:
  /// `table`: any table of the file, with `#` for the prefix; no row of it is changed.
  StepSavepoint(sqlite3* connection, std::string_view table, std::string_view prefix);

  void begin();
  /// Undoes the step, which is then over.
  void rollback();
  void release();
  /// After a failure: undoes the step. If that fails too, as where the host interrupts the connection, the whole
  /// transaction is rolled back, because the host could otherwise commit half of the step.
  void undo() noexcept;
  /// Rolls the whole transaction back.
  void endTransaction() noexcept;

private:
  sqlite3* const connection_;
  Statement begin_;
  Statement release_;
  Statement rollbackTo_;
  Statement rollbackAll_;
  Statement changeNothing_;
};

}  // namespace ackbox::sqlite
