#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/log.hpp"
#include "base/mutex.hpp"
#include "serve/http/caller.hpp"

namespace ackbox::serve {

/// A change that a caller made.
struct AuditEntry {
  WallTime at = {};
  std::string caller = {};
  /// See `Audit::record`.
  std::string what = {};
  std::string target = {};
  std::uint64_t changed = 0;
};

/// Logs each manual change (its caller, operation, target and number of rows) and each login, and remembers the last
/// ones. Never logs a token.
///
/// Thread-safety: all members may be called from any thread.
class Audit {
public:
  Audit(LogSink sink, std::shared_ptr<Clock> clock) : sink_(std::move(sink)), clock_(std::move(clock)) {}

  /// `what` is the operation, such as `dead-letters:retry`; `target` is a name, an id or a filter in JSON.
  void record(const Caller& caller, std::string_view what, std::string_view target, std::uint64_t changed);

  /// Logs a failed login. `caller` is empty if no caller has the token.
  void loginRefused(const Caller& caller, std::string_view cause) const;

  /// The last 200 of `record`, the newest first.
  [[nodiscard]] std::vector<AuditEntry> last() const;

private:
  void write(LogRecord& record) const;

  const LogSink sink_;
  const std::shared_ptr<Clock> clock_;
  mutable Mutex mutex_;
  std::deque<AuditEntry> last_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::serve
