#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "ackbox/clock.hpp"
#include "store/writer.hpp"

namespace ackbox::manager {

/// How many requests and frames were refused for who sent them. Kept in memory and written at most once a second,
/// because a flood of them must not become a flood of commits; the last of them a second later by a timer, so that
/// another process finds them all in the file.
///
/// Thread-safety: all members may be called from any thread.
class RefusalCounts : public std::enable_shared_from_this<RefusalCounts> {
public:
  struct Values {
    std::uint64_t unauthenticated = 0;
    std::uint64_t forbidden = 0;
  };

  /// Without `hasTimer` the last second's are written with the next ones, or by `flush`.
  /// Lifetime: `writer` outlives every call of `add` and `flush`, `close`, and the jobs of its own.
  RefusalCounts(store::Writer& writer, std::shared_ptr<Clock> clock, bool hasTimer);
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

  [[nodiscard]] Values take();
  void arm();
  void wake();
  void write(const Values& values);
  void written(const Values& values, bool isStored);

  store::Writer& writer_;
  const std::shared_ptr<Clock> clock_;
  const bool hasTimer_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Values left_;
  Values underWay_;
  SteadyTime mayWriteAt_;
  // Null until there is something to wait for.
  std::unique_ptr<Timer> timer_;
  bool isArmed_ = false;
  bool isClosed_ = false;
};

}  // namespace ackbox::manager
