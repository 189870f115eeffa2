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

/// SQL: what the rows of the outbox behind `tails_key` say of their sessions, and the sessions' own states do not:
/// `session_id`, `last_sequence`, and of those that are live `first_id` and their number, `live`.
inline constexpr std::string_view kUnwrittenTails =
    "(SELECT o.session_id AS session_id, max(o.sequence) AS last_sequence, min(o.id) FILTER (WHERE o.state<3) AS "
    "first_id, count(*) FILTER (WHERE o.state<3) AS live FROM #outbox AS o CROSS JOIN #session_states AS w ON "
    "w.session_id=o.session_id WHERE o.id>(SELECT tails_key FROM #counters) AND o.sequence>w.last_sequence GROUP BY "
    "o.session_id)";

// SQL on `m` (#session_states) and `t`, which is `kUnwrittenTails` joined to it where it has something: what is true
// now.
inline constexpr std::string_view kSessionLive = "(m.live+coalesce(t.live,0))";
inline constexpr std::string_view kSessionLastSequence = "max(m.last_sequence,coalesce(t.last_sequence,0))";
inline constexpr std::string_view kSessionHead = "iif(m.live=0,coalesce(t.first_id,m.head_id),m.head_id)";

/// Writes the tails and the gauges of sessions.
///
/// It differs from `SessionStates`, which it writes through, in that it gathers also inside nested scopes, where frames
/// are enqueued, and takes back what an undone scope has appended; and that it may put its changes off to a later
/// commit.
///
/// A message says by itself where its session's tail is, so an enqueue leaves the session's state alone, which mostly
/// is written soon all the same: when a claim of the session ends. `Counter::tailsKey` says up to which message the
/// sessions' states are written; at most `kBehindMax` are behind it, and a store that finds some that it has not put
/// there itself catches up. A message that goes takes its session's tail into the state first, in the same commit: its
/// number is never given again.
///
/// All in a transaction. Thread-safety: none.
class LazySessionRows final : public WriteBack {
public:
  /// How far the sessions' states may lag behind: what the next opener reads in less than 10 ms.
  static constexpr std::int64_t kBehindMax = 8192;

  LazySessionRows(sqlite3* connection, std::string_view prefix, Counters& counters, SessionStates& states);

  /// Writes what others have put off.
  void begun(bool othersCommitted) override;

  /// The session's next message was stored.
  void append(delivery::SessionKey session, std::uint64_t sequence, delivery::MessageKey key);
  /// The number of the session's newest message; its row says `written`.
  [[nodiscard]] std::uint64_t lastSequence(delivery::SessionKey session, std::uint64_t written) const;

  /// Adds to `state`, which is the session's, what it does not say yet. Not in a nested scope.
  void moveInto(delivery::SessionKey session, SessionState& state);

  /// Writes the sessions that anything else than an append has changed, and those that lag too far.
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
  /// A session's entry before a change; without rows there was none.
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
  // By the first message; an entry whose session has meanwhile been written says nothing.
  std::deque<std::pair<delivery::MessageKey, delivery::SessionKey>> queue_;
  // Of this transaction.
  std::vector<Undo> undo_;
  // Where each nested scope began in it.
  std::vector<std::size_t> scopes_;
  // All that is behind `tailsKey` is in `unwritten_`.
  bool complete_ = false;
};

}  // namespace ackbox::store::sqlite
