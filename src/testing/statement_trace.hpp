#pragma once

#include <string>
#include <string_view>

#include "testing/trace.hpp"

namespace ackbox::testing {

/// Adds to a trace which of one process's transactions are committed and undone.
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

private:
  friend struct StatementTraceHook;
  void ran(std::string_view statement) const;

  Trace& trace_;
  const std::string process_;
  const std::string vfs_;
};

}  // namespace ackbox::testing
