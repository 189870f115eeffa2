#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ackbox/clock.hpp"
#include "base/exception_report.hpp"
#include "base/mutex.hpp"
#include "store/writer.hpp"

namespace ackbox::manager {

/// Counts the requests and frames that were refused because of their sender. The counts are kept in memory and written
/// at most once a second, so that a flood of refusals does not cause a flood of commits. A timer writes the last ones a
/// second later, so that another process finds all of them in the file.
///
/// Thread-safety: all members may be called from any thread.
class RefusalCounts : public std::enable_shared_from_this<RefusalCounts> {
public:
  struct Values {
    std::uint64_t unauthenticated = 0;
    std::uint64_t forbidden = 0;
  };

  /// Without `hasTimer`, the refusals of the last second are written with the next ones, or by `flush`. An exception on
  /// the timer's thread is passed to `onException`, and later refusals are still counted. Lifetime: `writer` outlives
  /// every call of `add` and `flush`, `close`, and the jobs of its own.
  RefusalCounts(store::Writer& writer, std::shared_ptr<Clock> clock, bool hasTimer, OnException onException);
  /// Precondition: `close` was called.
  ~RefusalCounts();
  RefusalCounts(const RefusalCounts&) = delete;
  RefusalCounts& operator=(const RefusalCounts&) = delete;

  void add(const Values& values);
  /// Writes the remaining counts, asynchronously.
  void flush();
  /// Ends the timer and waits for its end. Idempotent.
  void close() noexcept;
  /// The counts that are not written yet. Read before the file's counts, so that counts being written at that moment
  /// may count twice, but are never missed.
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
  // Null until it is first needed.
  std::unique_ptr<Timer> timer_ ACKBOX_GUARDED_BY(mutex_);
  bool isArmed_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool isClosed_ ACKBOX_GUARDED_BY(mutex_) = false;
};

}  // namespace ackbox::manager
