#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ackbox/message.hpp"
#include "ackbox/stats.hpp"
#include "store/sql.hpp"

namespace ackbox::store {

/// One column of the counters row each, in the order of `kCounterNames`.
enum class Counter : std::uint8_t {
  pending,
  sending,
  sent,
  failed,
  pendingBytes,
  enqueued,
  acked,
  failedTotal,
  totalRetries,
  staleSettles,
  received,
  duplicates,
  gaps,
  inbox,
  deferred,
  refusedAcks,
};

inline constexpr std::size_t kCounterCount = 16;
using CounterValues = std::array<std::int64_t, kCounterCount>;

[[nodiscard]] Stats toStats(const CounterValues& values);

/// The counters row: changes gather in memory and are written once per commit, as differences.
///
/// Thread-safety: that of the connection.
class Counters {
public:
  Counters(sqlite3* connection, std::string_view prefix);

  /// Including the changes that are not written yet.
  [[nodiscard]] std::int64_t value(Counter counter);
  /// Messages in the store's care that are not settled.
  [[nodiscard]] std::uint64_t live();
  [[nodiscard]] CounterValues values();

  void add(Counter counter, std::int64_t difference);
  /// A row leaves or enters `state`; live rows carry their bytes with them.
  void leave(MessageState state, std::int64_t rows, std::int64_t bytes);
  void enter(MessageState state, std::int64_t rows, std::int64_t bytes);

  /// The gathered changes, to be put back by `restore` when a nested scope is undone.
  [[nodiscard]] const CounterValues& changes() const noexcept { return changes_; }
  void restore(const CounterValues& changes) noexcept { changes_ = changes; }

  /// Writes the changes. In a transaction.
  void flush();
  /// Forgets the changes and what was read: after a rollback, or another connection's commit.
  void forget() noexcept;

private:
  void load();

  Statement select_;
  Statement update_;
  CounterValues base_{};
  CounterValues changes_{};
  bool loaded_ = false;
  bool changed_ = false;
};

}  // namespace ackbox::store
