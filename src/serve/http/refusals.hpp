#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/log.hpp"
#include "base/mutex.hpp"
#include "protocol/exposition.hpp"
#include "serve/http/failure_rate.hpp"

namespace ackbox::serve {

/// Requests that were refused for their caller: all are counted; ten at once and then one a second are in the log, with
/// how many were not; and an address that sends more wrong tokens than that is asked to slow down.
///
/// Thread-safety: all members may be called from any thread.
class Refusals {
public:
  Refusals(std::shared_ptr<Clock> clock, LogSink log);

  /// A request without a token, for which it needs one.
  void withoutToken();
  /// One with a token that is nobody's. Whether it is answered as such, or its address is to slow down. `operation`:
  /// the path as operations have it.
  [[nodiscard]] bool wrongToken(const std::string& address, std::string_view operation);
  /// One of a caller that has not the role.
  void wrongRole(const std::string& address, std::string_view operation, std::string_view caller);

  /// `ackbox_refused_callers_total`, since the process began.
  void write(protocol::Exposition& out) const;

private:
  struct Counts {
    std::uint64_t withoutToken = 0;
    std::uint64_t wrongToken = 0;
    std::uint64_t wrongRole = 0;
  };

  [[nodiscard]] bool mayFail(const std::string& address, SteadyTime now) ACKBOX_REQUIRES(mutex_);
  void report(const std::string& address, std::string_view operation, std::string_view caller, std::string_view cause);

  const std::shared_ptr<Clock> clock_;
  const LogSink log_;
  mutable Mutex mutex_;
  Counts counts_ ACKBOX_GUARDED_BY(mutex_);
  // Of those that failed a moment ago.
  std::map<std::string, FailureRate> addresses_ ACKBOX_GUARDED_BY(mutex_);
  // Of all that there is no room for.
  FailureRate others_ ACKBOX_GUARDED_BY(mutex_);
  FailureRate logged_ ACKBOX_GUARDED_BY(mutex_);
  std::uint64_t leftOut_ ACKBOX_GUARDED_BY(mutex_) = 0;
};

}  // namespace ackbox::serve
