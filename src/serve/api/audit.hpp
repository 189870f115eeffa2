#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/log.hpp"
#include "serve/http/caller.hpp"

namespace ackbox::serve {

/// Logs each manual change (its caller, operation, target and number of rows) and each login. Never logs a token.
///
/// Thread-safety: all members may be called from any thread.
class Audit {
public:
  Audit(LogSink sink, std::shared_ptr<Clock> clock) : sink_(std::move(sink)), clock_(std::move(clock)) {}

  /// `what` is the operation, such as `dead-letters:retry`; `target` is a name, an id or a filter in JSON.
  void record(const Caller& caller, std::string_view what, std::string_view target, std::uint64_t changed) const;

  /// Logs a failed login. `caller` is empty if no caller has the token.
  void loginRefused(const Caller& caller, std::string_view cause) const;

private:
  void write(LogRecord& record) const;

  const LogSink sink_;
  const std::shared_ptr<Clock> clock_;
};

}  // namespace ackbox::serve
