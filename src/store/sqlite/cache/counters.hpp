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
  /// Those that are being sent as well: which of them, the claims say.
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
  /// The highest id that a row was given, of those that are counted.
  lastKey,
  /// See `LazySessionRows`.
  tailsKey,
  refusedLimits,
  /// What all senders' rows take, see `SenderShares`.
  inboundBytes,
  inboxBytes,
  recounts,
};

inline constexpr std::size_t kCounterCount = 30;
inline constexpr std::size_t kPeerCounterCount = 8;
using CounterValues = std::array<std::int64_t, kCounterCount>;
using PeerCounterValues = std::array<std::int64_t, kPeerCounterCount>;

/// `sending` of the pending ones are being sent.
[[nodiscard]] Stats toStats(const CounterValues& values, std::uint64_t sending);

/// Fills in what `Stats` and `PeerStats` have alike; `at` gives the value of a counter.
template <typename Figures, typename At>
void readPeerCounters(Figures& figures, const At& at, std::uint64_t sending) {
  // More may be claimed than there is.
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

/// The counters row and each peer's counters: changes gather in memory and are written once per commit, the row as
/// values, which the write lock keeps true, and the peers' as differences. Those of sessions' gauges gather here as
/// well, for `LazySessionRows` to write.
///
/// A new row says by itself that it is to be counted, by an id above `Counter::lastKey`, so a commit of enqueues alone
/// leaves the counters' row as it is until `kUncountedMax` rows are waiting, and so does one of claims, which no
/// counter counts. Each reader of the row adds them, and any other commit writes it: no row goes, or changes its state,
/// before it was counted, and no id is given twice.
///
/// Thread-safety: that of the connection.
class Counters final : public WriteBack {
public:
  Counters(sqlite3* connection, std::string_view prefix);

  /// Including the changes that are not written yet.
  [[nodiscard]] std::int64_t value(Counter counter);
  /// Messages in the store's care that are not settled.
  [[nodiscard]] std::uint64_t live();
  /// Their bytes of data.
  [[nodiscard]] std::uint64_t liveBytes();
  [[nodiscard]] CounterValues values();
  /// `lastKey` as the file has it, which grows with each commit that writes it.
  [[nodiscard]] std::int64_t writtenLastKey();

  /// A counter of the store alone.
  void add(Counter counter, std::int64_t difference);
  /// The same, but it need not be written before something else is.
  void note(Counter counter, std::int64_t difference);
  /// One that is kept for the session's peer as well. False: the file has no such session, and only the store's counts.
  bool add(delivery::SessionKey session, Counter counter, std::int64_t difference);
  /// Rows of a session that are not in `state` any more, or are in it now; live rows carry their bytes with them. ACKED
  /// rows are added only if they are kept.
  void subtractRows(delivery::SessionKey session, MessageState state, std::int64_t rows, std::int64_t bytes);
  void addRows(delivery::SessionKey session, MessageState state, std::int64_t rows, std::int64_t bytes);
  /// A pending row to `peer` was enqueued under the next key, behind the tail of a session, whose gauges
  /// `LazySessionRows` keeps.
  void append(delivery::PeerKey peer, std::int64_t bytes);
  /// The session was made just now.
  void created(delivery::SessionKey session, delivery::PeerKey peer) { peers_.insert_or_assign(session, peer); }
  /// A live row more in an unordered queue, where its gauge is no matter of `LazySessionRows`.
  void addLive(delivery::SessionKey unorderedQueue) { ++changes_.sessions[unorderedQueue].live; }
  /// A row changes its state from one live state to another, which is no matter of its session's gauges.
  void move(delivery::SessionKey session, MessageState from, MessageState to);
  /// A message was acknowledged now that was enqueued then.
  void acknowledged(WallTime enqueuedAt, WallTime now);

  /// A session's gauges that changed, handed over to the writer of that session's state.
  struct SessionChange {
    std::int64_t live = 0;
    std::int64_t failed = 0;
  };
  [[nodiscard]] std::vector<delivery::SessionKey> changedSessions() const;
  [[nodiscard]] SessionChange takeSession(delivery::SessionKey session);

  /// What new rows of `peer` add to its counters in the file.
  [[nodiscard]] PeerCounterValues uncountedOf(delivery::PeerKey peer);

  /// A gauge cannot be true: it is to be counted anew before the commit (`recount`).
  void doubt() noexcept { isDoubtful_ = true; }
  [[nodiscard]] bool isDoubtful() const noexcept { return isDoubtful_; }

  /// Writes the changes, those of sessions apart, unless new rows say them.
  void flush() override;
  void flushAll() override;
  void committed() noexcept override { scopes_.clear(); }
  void scopeBegun() override { scopes_.push_back(changes_); }
  void scopeReleased() noexcept override { scopes_.pop_back(); }
  void scopeUndone() noexcept override;
  /// What follows reads the row before it changes anything.
  void forget() noexcept override;
  [[nodiscard]] bool isPending() const noexcept override { return changes_.isUrgent || changes_.uncounted != 0; }

private:
  /// What has gathered.
  struct Changes {
    CounterValues values{};
    std::map<delivery::PeerKey, PeerCounterValues> peers;
    std::map<delivery::SessionKey, SessionChange> sessions;
    /// Enqueued rows that are not counted in the file.
    std::int64_t uncounted = 0;
    /// There is more than they say.
    bool isUrgent = false;
  };

  void load();
  void count();
  /// 0: there is no such session, as a damaged row may say.
  [[nodiscard]] delivery::PeerKey peerOf(delivery::SessionKey session);

  // Rows that wait to be counted cost each reader a look.
  static constexpr std::int64_t kUncountedMax = 64;

  Statement select_;
  Statement update_;
  Statement selectUncounted_;
  Statement updatePeer_;
  Statement selectPeer_;
  CounterValues base_{};
  Changes changes_;
  // What had gathered where each nested scope began.
  std::vector<Changes> scopes_;
  // A session never changes its peer; but one that is rolled back may give its key to another.
  std::unordered_map<delivery::SessionKey, delivery::PeerKey> peers_;
  bool loaded_ = false;
  bool isDoubtful_ = false;
  // False once it was seen that the file knows one peer, which has no row of its own.
  bool peersCount_ = true;
};

}  // namespace ackbox::store::sqlite
