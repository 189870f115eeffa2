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

/// Where an outbox says what happens to it: the sink that the program gave, or, of the few things that nobody must
/// miss, standard error, each once.
///
/// Thread-safety: all members may be called from any thread.
class Log {
public:
  /// Records of one event that are passed on in a `kPeriod`; further ones are counted.
  static constexpr std::uint64_t kRecordsInPeriod = 30;
  static constexpr std::chrono::seconds kPeriod{10};
  /// Subjects that standard error gets a line for: a subject may be a text that is never the same.
  static constexpr std::size_t kSubjectsMax = 1'000;

  Log(LogSink sink, LogLevel least, std::shared_ptr<Clock> clock);
  /// Says how much was left out and not said yet.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Whether `write` would pass a record of this level on: asked before the texts are made.
  [[nodiscard]] bool takes(LogLevel level) const noexcept { return sink_ && level >= least_; }

  using Fields = std::initializer_list<LogField>;

  void write(LogLevel level, std::string_view event, std::string_view text, Fields fields = {}) noexcept;

  /// As `write`; without a sink on standard error, once for each `subject`.
  void writeUnasked(LogLevel level, std::string_view event, std::string_view subject, std::string_view text,
                    Fields fields = {}) noexcept;

private:
  struct Window {
    SteadyTime since{};
    std::uint64_t records = 0;
    std::uint64_t leftOut = 0;
    LogLevel level = LogLevel::debug;
  };

  /// Whether the record is to be passed on; then also how many were left out before it.
  [[nodiscard]] bool admit(LogLevel level, std::string_view event, std::uint64_t& leftOut) ACKBOX_EXCLUDES(mutex_);

  const LogSink sink_;
  const LogLevel least_;
  const std::shared_ptr<Clock> clock_;

  Mutex mutex_;
  // By event, of which there are a few dozen.
  std::map<std::string, Window, std::less<>> windows_ ACKBOX_GUARDED_BY(mutex_);
  std::set<std::pair<std::string, std::string>> said_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::manager
