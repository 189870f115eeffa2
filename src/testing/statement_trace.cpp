#include "testing/statement_trace.hpp"

#include <sqlite3.h>

#include <utility>

namespace ackbox::testing {
namespace {

// SQLite calls the hook for new connections without an argument of the caller, so this variable carries it.
thread_local StatementTrace* watching = nullptr;

bool isWrite(std::string_view statement) {
  return statement.starts_with("INSERT") || statement.starts_with("UPDATE") || statement.starts_with("DELETE") ||
         statement.starts_with("REPLACE");
}

}  // namespace

struct StatementTraceHook {
  static int onOpen(sqlite3* connection, char** error, const void* routines) noexcept {
    (void)error;
    (void)routines;
    sqlite3_vfs* vfs = nullptr;
    if (watching != nullptr && sqlite3_file_control(connection, "main", SQLITE_FCNTL_VFS_POINTER, &vfs) == SQLITE_OK &&
        vfs != nullptr && watching->vfs_ == vfs->zName) {
      sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, &StatementTraceHook::onStatement, watching);
    }
    return SQLITE_OK;
  }

  static int onStatement(unsigned kind, void* trace, void* statement, void* text) noexcept {
    (void)kind;
    static_cast<StatementTrace*>(trace)->begins(sqlite3_db_handle(static_cast<sqlite3_stmt*>(statement)),
                                                static_cast<const char*>(text));
    return 0;
  }

  static void (*entry())() { return reinterpret_cast<void (*)()>(&StatementTraceHook::onOpen); }
};

void StatementTrace::begins(sqlite3* connection, std::string_view statement) {
  if (isStopped_) {
    return;
  }
  const int changes = sqlite3_total_changes(connection);
  if (statement.starts_with("BEGIN")) {
    changesBefore_[connection] = changes;
  } else if (statement.starts_with("ROLLBACK TO")) {
    trace_.add(process_, "rolls back what the handler wrote");
  } else if (statement.starts_with("COMMIT") || statement.starts_with("ROLLBACK")) {
    if (changes != changesBefore_[connection]) {
      trace_.add(process_, statement.starts_with("COMMIT") ? "commits" : "rolls back: the transaction failed");
    }
  } else if (sqlite3_get_autocommit(connection) != 0 && isWrite(statement)) {
    trace_.add(process_, std::string("writes outside a transaction: ").append(statement));
  }
}

StatementTrace::Watch::Watch(StatementTrace& trace) : isOn_(trace.trace_.isOn()) {
  if (isOn_) {
    watching = &trace;
    sqlite3_auto_extension(StatementTraceHook::entry());
  }
}

StatementTrace::Watch::~Watch() {
  if (isOn_) {
    sqlite3_cancel_auto_extension(StatementTraceHook::entry());
    watching = nullptr;
  }
}

}  // namespace ackbox::testing
