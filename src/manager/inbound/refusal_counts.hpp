#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ackbox/clock.hpp"
#include "base/exception_report.hpp"
#include "base/mutex.hpp"
#include "store/writer.hpp"

namespace ackbox::manager {

/// How many requests and frames were refused on account of their sender. Kept in memory and written at most once a
/// second, because a flood of them must not become a flood of commits; the last of them a second later by a timer, so
/// that another process finds them all in the file.
///
/// Thread-safety: all members may be called from any thread.
class RefusalCounts : public std::enable_shared_from_this<RefusalCounts> {
public:
  struct Values {
    std::uint64_t unauthenticated = 0;
    std::uint64_t forbidden = 0;
  };

  /// Without `hasTimer` the last second's are written with the next ones, or by `flush`. What is thrown on the timer's
  /// thread is passed to `onException`, and the next refusals go on.
  /// Lifetime: `writer` outlives every call of `add` and `flush`, `close`, and the jobs of its own.
  RefusalCounts(store::Writer& writer, std::shared_ptr<Clock> clock, bool hasTimer, OnException onException);
  /// `close` came before.
  ~RefusalCounts();
  RefusalCounts(const RefusalCounts&) = delete;
  RefusalCounts& operator=(const RefusalCounts&) = delete;

  void add(const Values& values);
  /// Writes what is left, later.
  void flush();
  /// The timer ends: waits for it. Idempotent.
  void close() noexcept;
  /// What is not written yet. Asked for before the file: then what is being written at this very moment may count
  /// twice, and never not at all.
  [[nodiscard]] Values unwritten() const;

private:
  class Timer;

  [[nodiscard]] Values take() ACKBOX_REQUIRES(mutex_);
  void arm() ACKBOX_REQUIRES(mutex_);
  void wake() ACKBOX_EXCLUDES(mutex_);
  void failed(const std::string& what) ACKBOX_EXCLUDES(mutex_);
  void write(const Values& values) ACKBOX_EXCLUDES(mutex_);
  void written(const Values& values, bool isStored) ACKBOX_EXCLUDES(mutex_);

  store::Writer& writer_;
  const std::shared_ptr<Clock> clock_;
  const bool hasTimer_;
  const OnException onException_;

  mutable Mutex mutex_;
  Values left_ ACKBOX_GUARDED_BY(mutex_);
  Values underWay_ ACKBOX_GUARDED_BY(mutex_);
  SteadyTime mayWriteAt_ ACKBOX_GUARDED_BY(mutex_);
  // Null until there is something to wait for.
  std::unique_ptr<Timer> timer_ ACKBOX_GUARDED_BY(mutex_);
  bool isArmed_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool isClosed_ ACKBOX_GUARDED_BY(mutex_) = false;
};

}  // namespace ackbox::manager
