#include "serve/http/refusals.hpp"

#include <array>
#include <utility>

namespace ackbox::serve {
namespace {

constexpr std::size_t kAddressesMax = 1'024;

}  // namespace

Refusals::Refusals(std::shared_ptr<Clock> clock, LogSink log) : clock_(std::move(clock)), log_(std::move(log)) {}

void Refusals::withoutToken() {
  const MutexLock lock(mutex_);
  ++counts_.withoutToken;
}

bool Refusals::wrongToken(const std::string& address, std::string_view operation) {
  bool isRare = false;
  {
    const MutexLock lock(mutex_);
    ++counts_.wrongToken;
    isRare = mayFail(address, clock_->steadyNow());
  }
  report(address, operation, {}, "unknown token");
  return isRare;
}

void Refusals::wrongRole(const std::string& address, std::string_view operation, std::string_view caller) {
  {
    const MutexLock lock(mutex_);
    ++counts_.wrongRole;
  }
  report(address, operation, caller, "the token lacks the required role");
}

void Refusals::beyondLimits(const std::string& address, std::string_view operation, std::string_view caller) {
  {
    const MutexLock lock(mutex_);
    ++counts_.beyondLimits;
  }
  report(address, operation, caller, "the token is limited to other peers or types");
}

// Forgets addresses without recent failures when room is needed.
bool Refusals::mayFail(const std::string& address, SteadyTime now) {
  if (addresses_.size() >= kAddressesMax && !addresses_.contains(address)) {
    std::erase_if(addresses_, [now](const auto& one) { return one.second.isFresh(now); });
    if (addresses_.size() >= kAddressesMax) {
      return others_.mayFail(now);
    }
  }
  return addresses_[address].mayFail(now);
}

void Refusals::report(const std::string& address, std::string_view operation, std::string_view caller,
                      std::string_view cause) {
  std::string leftOut;
  {
    const MutexLock lock(mutex_);
    if (!logged_.mayFail(clock_->steadyNow())) {
      ++leftOut_;
      return;
    }
    leftOut = std::to_string(std::exchange(leftOut_, 0));
  }
  const std::array<LogField, 5> fields = {LogField{"address", address}, LogField{"operation", operation},
                                          LogField{"caller", caller}, LogField{"cause", cause},
                                          LogField{"left_out", leftOut}};
  LogRecord record;
  record.level = LogLevel::warning;
  record.at = clock_->wallNow();
  record.event = "caller-refused";
  record.text = "a request was refused for its caller; `left_out` counts those since the last such record";
  record.fields = fields;
  try {
    if (log_) {
      log_(record);
    }
  } catch (...) {
    // A sink that throws loses the record, like the library's own records.
    return;
  }
}

void Refusals::write(protocol::Exposition& out) const {
  out.family("ackbox_refused_callers_total", protocol::Exposition::Type::counter,
             "Requests to the API that were refused for their caller, since this process began.");
  const MutexLock lock(mutex_);
  out.sample(counts_.withoutToken, {{"cause", "no-token"}});
  out.sample(counts_.wrongToken, {{"cause", "wrong-token"}});
  out.sample(counts_.wrongRole, {{"cause", "wrong-role"}});
  out.sample(counts_.beyondLimits, {{"cause", "beyond-limits"}});
}

}  // namespace ackbox::serve
