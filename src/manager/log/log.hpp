#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "ackbox/clock.hpp"
#include "ackbox/log.hpp"
#include "base/mutex.hpp"

namespace ackbox::manager {

/// The log of an outbox: records go to the program's sink. Without a sink, the few most important ones go to standard
/// error, each once.
///
/// Thread-safety: all members may be called from any thread.
class Log {
public:
  /// The most records of one event that are passed on in a `kPeriod`; further ones are only counted.
  static constexpr std::uint64_t kRecordsInPeriod = 30;
  static constexpr std::chrono::seconds kPeriod{10};
  /// The most subjects with a line on standard error: a subject may be a text that always differs.
  static constexpr std::size_t kSubjectsMax = 1'000;

  Log(LogSink sink, LogLevel least, std::shared_ptr<Clock> clock);
  /// Writes the number of left-out records that was not written yet.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Whether `write` would pass on a record of this level; called before the texts are composed.
  [[nodiscard]] bool takes(LogLevel level) const noexcept { return sink_ && level >= least_; }

  using Fields = std::initializer_list<LogField>;

  void write(LogLevel level, std::string_view event, std::string_view text, Fields fields = {}) noexcept;

  /// As `write`; without a sink, writes to standard error, once for each `subject`.
  void writeUnasked(LogLevel level, std::string_view event, std::string_view subject, std::string_view text,
                    Fields fields = {}) noexcept;

private:
  struct Window {
    SteadyTime since{};
    std::uint64_t records = 0;
    std::uint64_t leftOut = 0;
    LogLevel level = LogLevel::debug;
  };

  /// Whether to pass the record on; if so, `leftOut` is the number of records left out before it.
  [[nodiscard]] bool admit(LogLevel level, std::string_view event, std::uint64_t& leftOut) ACKBOX_EXCLUDES(mutex_);

  const LogSink sink_;
  const LogLevel least_;
  const std::shared_ptr<Clock> clock_;

  Mutex mutex_;
  // By event; there are a few dozen events.
  std::map<std::string, Window, std::less<>> windows_ ACKBOX_GUARDED_BY(mutex_);
  std::set<std::pair<std::string, std::string>> said_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::manager
