#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "ackbox/clock.hpp"
#include "store/writer.hpp"

namespace ackbox::manager {

/// How many requests and frames were refused for who sent them. Kept in memory and written at most once a second: a
/// flood of them must not become a flood of commits.
///
/// Thread-safety: all members may be called from any thread.
class RefusalCounts : public std::enable_shared_from_this<RefusalCounts> {
public:
  struct Values {
    std::uint64_t unauthenticated = 0;
    std::uint64_t forbidden = 0;
  };

  /// Lifetime: `writer` outlives every call of `add` and `flush`, and the jobs of its own.
  RefusalCounts(store::Writer& writer, std::shared_ptr<Clock> clock);

  void add(const Values& values);
  /// Writes what is left, later.
  void flush();
  /// What is not written yet. Asked for before the file: then what is being written at this very moment may count
  /// twice, and never not at all.
  [[nodiscard]] Values unwritten() const;

private:
  [[nodiscard]] Values take();
  void write(const Values& values);
  void written(const Values& values, bool isStored);

  store::Writer& writer_;
  const std::shared_ptr<Clock> clock_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Values left_;
  Values underWay_;
  SteadyTime mayWriteAt_;
};

}  // namespace ackbox::manager
