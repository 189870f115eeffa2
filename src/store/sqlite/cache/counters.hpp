#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ackbox/message.hpp"
#include "ackbox/stats.hpp"
#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// One column of the counters row each, in the order of `kCounterNames`. The first `kPeerCounterCount` are kept for
/// each peer as well.
enum class Counter : std::uint8_t {
  /// Includes messages that are being sent; the claims say which they are.
  pending,
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
  refusedUnauthenticated,
  refusedForbidden,
  retained,
  ackLatency,
  lastAckedAt,
  /// See `Oldest`.
  oldestKey,
  superseded,
  staleEpochs,
  idConflicts,
  /// The highest id among the rows that are counted.
  lastKey,
  /// See `LazySessionRows`.
  tailsKey,
  refusedLimits,
  /// The size of all senders' rows, see `SenderShares`.
  inboundBytes,
  inboxBytes,
  recounts,
};

inline constexpr std::size_t kCounterCount = 30;
inline constexpr std::size_t kPeerCounterCount = 8;
using CounterValues = std::array<std::int64_t, kCounterCount>;
using PeerCounterValues = std::array<std::int64_t, kPeerCounterCount>;

/// `sending`: how many of the pending messages are being sent.
[[nodiscard]] Stats toStats(const CounterValues& values, std::uint64_t sending);

/// Fills in the fields that `Stats` and `PeerStats` share; `at` returns the value of a counter.
template <typename Figures, typename At>
void readPeerCounters(Figures& figures, const At& at, std::uint64_t sending) {
  // More messages may be claimed than exist.
  figures.sending = std::min(sending, at(Counter::pending));
  figures.pending = at(Counter::pending) - figures.sending;
  figures.sent = at(Counter::sent);
  figures.failed = at(Counter::failed);
  figures.pendingBytes = at(Counter::pendingBytes);
  figures.enqueued = at(Counter::enqueued);
  figures.acked = at(Counter::acked);
  figures.failedTotal = at(Counter::failedTotal);
  figures.totalRetries = at(Counter::totalRetries);
}

/// The columns of `#peer_counters` behind its key, in the order of `Counter`, with commas.
[[nodiscard]] std::string peerCounterColumns();

/// The counters row and each peer's counters. Changes gather in memory and are written once per commit: the row as
/// values, which the write lock keeps true, and the peers' counters as differences. Changes of sessions' gauges gather
/// here too, for `LazySessionRows` to write.
///
/// A new row is known to be uncounted by its id above `Counter::lastKey`. So a commit of enqueues alone does not write
/// the counters row until `kUncountedMax` rows are uncounted, nor does a commit of claims, which no counter counts.
/// Each reader of the counters row adds the uncounted rows, and any other commit writes it: a row is counted before it
/// is deleted or changes its state, and no id is used twice.
///
/// Thread-safety: that of the connection.
class Counters final : public WriteBack {
public:
  Counters(sqlite3* connection, std::string_view prefix);

  /// Includes the changes that are not written yet.
  [[nodiscard]] std::int64_t value(Counter counter);
  /// Messages in the store's care that are not settled.
  [[nodiscard]] std::uint64_t live();
  /// The bytes of data of those messages.
  [[nodiscard]] std::uint64_t liveBytes();
  [[nodiscard]] CounterValues values();
  /// `lastKey` as stored in the file, which grows with each commit that writes it.
  [[nodiscard]] std::int64_t writtenLastKey();

  /// Changes a counter of the store alone.
  void add(Counter counter, std::int64_t difference);
  /// The same, but the change may wait for the next write of the counters row.
  void note(Counter counter, std::int64_t difference);
  /// Changes the counter of the store and of the session's peer. False, with only the former, if the session is
  /// missing.
  bool add(delivery::SessionKey session, Counter counter, std::int64_t difference);
  /// Rows of a session have left `state`, or entered it; the bytes of live rows count as well. ACKED rows are added
  /// only if they are kept.
  void subtractRows(delivery::SessionKey session, MessageState state, std::int64_t rows, std::int64_t bytes);
  void addRows(delivery::SessionKey session, MessageState state, std::int64_t rows, std::int64_t bytes);
  /// A pending row to `peer` was enqueued under the next key, behind the tail of a session; `LazySessionRows` keeps the
  /// session's gauges.
  void append(delivery::PeerKey peer, std::int64_t bytes);
  /// The session has just been created.
  void created(delivery::SessionKey session, delivery::PeerKey peer) { peers_.insert_or_assign(session, peer); }
  /// Adds a live row to the gauge of an unordered queue, which `LazySessionRows` does not keep.
  void addLive(delivery::SessionKey unorderedQueue) { ++changes_.sessions[unorderedQueue].live; }
  /// A row changes from one live state to another, which does not affect its session's gauges.
  void move(delivery::SessionKey session, MessageState from, MessageState to);
  /// A message that was enqueued at `enqueuedAt` was acknowledged at `now`.
  void acknowledged(WallTime enqueuedAt, WallTime now);

  /// Changes of a session's gauges, for the writer of that session's state.
  struct SessionChange {
    std::int64_t live = 0;
    std::int64_t failed = 0;
  };
  [[nodiscard]] std::vector<delivery::SessionKey> changedSessions() const;
  [[nodiscard]] SessionChange takeSession(delivery::SessionKey session);

  /// The amounts that uncounted rows of `peer` add to its counters in the file.
  /// The file has several peers now, which have counts of their own. Nothing may be pending.
  void countPeers() noexcept { peersCount_ = true; }
  [[nodiscard]] PeerCounterValues uncountedOf(delivery::PeerKey peer);

  /// A gauge cannot be right: the gauges are recounted before the commit (`recount`).
  void doubt() noexcept { isDoubtful_ = true; }
  [[nodiscard]] bool isDoubtful() const noexcept { return isDoubtful_; }

  /// Writes the changes, except those of sessions, unless the uncounted rows imply them.
  void flush() override;
  void flushAll() override;
  void committed() noexcept override { scopes_.clear(); }
  void scopeBegun() override { scopes_.push_back(changes_); }
  void scopeReleased() noexcept override { scopes_.pop_back(); }
  void scopeUndone() noexcept override;
  /// The next use reads the row before it changes anything.
  void forget() noexcept override;
  [[nodiscard]] bool isPending() const noexcept override { return changes_.isUrgent || changes_.uncounted != 0; }

private:
  /// The gathered changes.
  struct Changes {
    CounterValues values{};
    std::map<delivery::PeerKey, PeerCounterValues> peers;
    std::map<delivery::SessionKey, SessionChange> sessions;
    /// Enqueued rows that are not counted in the file.
    std::int64_t uncounted = 0;
    /// There are changes beyond the uncounted rows.
    bool isUrgent = false;
  };

  void load();
  void count();
  /// 0 if there is no such session, which a damaged row may name.
  [[nodiscard]] delivery::PeerKey peerOf(delivery::SessionKey session);

  // Each reader must look at every uncounted row.
  static constexpr std::int64_t kUncountedMax = 64;

  Statement select_;
  Statement update_;
  Statement selectUncounted_;
  Statement updatePeer_;
  Statement selectPeer_;
  CounterValues base_{};
  Changes changes_;
  // The gathered changes at the start of each nested scope.
  std::vector<Changes> scopes_;
  // A session never changes its peer, but after a rollback another session may get its key.
  std::unordered_map<delivery::SessionKey, delivery::PeerKey> peers_;
  bool loaded_ = false;
  bool isDoubtful_ = false;
  // False once the file was found to have only one peer, which then has no row of its own.
  bool peersCount_ = true;
};

}  // namespace ackbox::store::sqlite
