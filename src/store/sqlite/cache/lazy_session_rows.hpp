#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/session_states.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// SQL: the facts of sessions that outbox rows behind `tails_key` show and the sessions' states lack: `session_id`,
/// `last_sequence`, and for the live rows `first_id` and their number, `live`.
inline constexpr std::string_view kUnwrittenTails =
    "(SELECT o.session_id AS session_id, max(o.sequence) AS last_sequence, min(o.id) FILTER (WHERE o.state<3) AS "
    "first_id, count(*) FILTER (WHERE o.state<3) AS live FROM #outbox AS o CROSS JOIN #session_states AS w ON "
    "w.session_id=o.session_id WHERE o.id>(SELECT tails_key FROM #counters) AND o.sequence>w.last_sequence GROUP BY "
    "o.session_id)";

// SQL on `m` (#session_states) and `t`, which is `kUnwrittenTails` left-joined to it: the current values.
inline constexpr std::string_view kSessionLive = "(m.live+coalesce(t.live,0))";
inline constexpr std::string_view kSessionLastSequence = "max(m.last_sequence,coalesce(t.last_sequence,0))";
inline constexpr std::string_view kSessionHead = "iif(m.live=0,coalesce(t.first_id,m.head_id),m.head_id)";

/// Writes the tails and the gauges of sessions.
///
/// It writes through `SessionStates`. Unlike that, it also gathers inside nested scopes, where frames are enqueued, and
/// removes the rows that an undone scope has appended; and it may leave its changes to a later commit.
///
/// A message's row shows its session's tail, so an enqueue does not write the session's state, which is mostly written
/// soon anyway, when a claim of the session ends. `Counter::tailsKey` is the last message that the sessions' states
/// include; at most `kBehindMax` messages are behind it, and a store catches up on those that it did not enqueue
/// itself. Before a message is deleted, its session's tail is written to the state in the same commit, so that its
/// number is never used again.
///
/// All in a transaction. Thread-safety: none.
class LazySessionRows final : public WriteBack {
public:
  /// How many messages the sessions' states may lag behind: the next opening reads them in less than 10 ms.
  static constexpr std::int64_t kBehindMax = 8192;

  LazySessionRows(sqlite3* connection, std::string_view prefix, Counters& counters, SessionStates& states);

  /// Writes the changes that other connections left to a later commit.
  void begun(bool othersCommitted) override;

  /// The session's next message was stored.
  void append(delivery::SessionKey session, std::uint64_t sequence, delivery::MessageKey key);
  /// The sequence of the session's newest message; `written` is the one in its state.
  [[nodiscard]] std::uint64_t lastSequence(delivery::SessionKey session, std::uint64_t written) const;

  /// Adds the changes that are not written yet to `state`, the session's state. Not in a nested scope.
  void moveInto(delivery::SessionKey session, SessionState& state);

  /// Writes the sessions with changes other than appends, and those that lag too far.
  void flush() override;
  void flushAll() override;
  void committed() noexcept override { scopes_.clear(); }
  void scopeBegun() override { scopes_.push_back(undo_.size()); }
  void scopeReleased() noexcept override { scopes_.pop_back(); }
  void scopeUndone() noexcept override;
  void forget() noexcept override;
  [[nodiscard]] bool isPending() const noexcept override { return !unwritten_.empty(); }

private:
  void catchUp();
  struct Appended {
    std::uint64_t lastSequence = 0;
    delivery::MessageKey first = 0;
    std::int64_t rows = 0;
  };
  /// A session's entry before a change; without rows if there was no entry.
  struct Undo {
    delivery::SessionKey session = 0;
    Appended before;
  };

  void writeUpTo(delivery::MessageKey key);
  void write(delivery::SessionKey session);

  Counters& counters_;
  SessionStates& states_;
  Statement catchUp_;
  std::unordered_map<delivery::SessionKey, Appended> unwritten_;
  // Ordered by the first message; ignored if the session was written meanwhile.
  std::deque<std::pair<delivery::MessageKey, delivery::SessionKey>> queue_;
  // Of this transaction.
  std::vector<Undo> undo_;
  // The size of `undo_` at the start of each nested scope.
  std::vector<std::size_t> scopes_;
  // Whether `unwritten_` has all messages behind `tailsKey`.
  bool complete_ = false;
};

}  // namespace ackbox::store::sqlite
