#pragma once

#include <map>
#include <string>
#include <string_view>

#include "testing/trace.hpp"

struct sqlite3;

namespace ackbox::testing {

/// Adds events of one process to a trace: the transactions that changed rows, as committed or undone, and the writes
/// outside a transaction.
///
/// Lifetime: no connection of the process may outlive it. Thread-safety: none.
class StatementTrace {
public:
  StatementTrace(Trace& trace, std::string process, std::string vfs)
      : trace_(trace), process_(std::move(process)), vfs_(std::move(vfs)) {}

  /// Follows each connection that this thread opens with the process's VFS while a `Watch` lives.
  class Watch {
  public:
    explicit Watch(StatementTrace& trace);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

  private:
    const bool isOn_;
  };

  /// The process ends: later rollbacks of its connections are not traced.
  void stop() noexcept { isStopped_ = true; }

private:
  friend struct StatementTraceHook;
  void begins(sqlite3* connection, std::string_view statement);

  Trace& trace_;
  const std::string process_;
  const std::string vfs_;
  bool isStopped_ = false;
  // By connection: the number of rows that it had changed when its transaction began.
  std::map<sqlite3*, int> changesBefore_;
};

}  // namespace ackbox::testing
