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

/// Requests that were refused because of their caller. Counts all of them; logs ten at once and then one a second, with
/// the number that was left out; and asks an address that sends wrong tokens faster than that to slow down.
///
/// Thread-safety: all members may be called from any thread.
class Refusals {
public:
  Refusals(std::shared_ptr<Clock> clock, LogSink log);

  /// Counts a request that lacks a required token.
  void withoutToken();
  /// Counts a request with an unknown token. Returns whether to answer it as such; otherwise its address is to slow
  /// down. `operation` is the path pattern of the operation.
  [[nodiscard]] bool wrongToken(const std::string& address, std::string_view operation);
  /// Counts a request with a token that lacks the required role.
  void wrongRole(const std::string& address, std::string_view operation, std::string_view caller);

  /// Counts a request beyond the limits of its token.
  void beyondLimits(const std::string& address, std::string_view operation, std::string_view caller);

  /// Writes `ackbox_refused_callers_total`, counted since the process began.
  void write(protocol::Exposition& out) const;

private:
  struct Counts {
    std::uint64_t withoutToken = 0;
    std::uint64_t wrongToken = 0;
    std::uint64_t wrongRole = 0;
    std::uint64_t beyondLimits = 0;
  };

  [[nodiscard]] bool mayFail(const std::string& address, SteadyTime now) ACKBOX_REQUIRES(mutex_);
  void report(const std::string& address, std::string_view operation, std::string_view caller, std::string_view cause);

  const std::shared_ptr<Clock> clock_;
  const LogSink log_;
  mutable Mutex mutex_;
  Counts counts_ ACKBOX_GUARDED_BY(mutex_);
  // Rates of addresses with recent failures.
  std::map<std::string, FailureRate> addresses_ ACKBOX_GUARDED_BY(mutex_);
  // Shared by all addresses that do not fit into `addresses_`.
  FailureRate others_ ACKBOX_GUARDED_BY(mutex_);
  FailureRate logged_ ACKBOX_GUARDED_BY(mutex_);
  std::uint64_t leftOut_ ACKBOX_GUARDED_BY(mutex_) = 0;
};

}  // namespace ackbox::serve
