#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// SQL: inserts a state for the session with the key ?1, if it has none.
inline constexpr std::string_view kInsertState = "INSERT OR IGNORE INTO #session_states VALUES(?1,0,0,0,0,0,0,0,0)";

/// Throws `databaseCorrupt`.
[[noreturn]] void throwStateMissing(delivery::SessionKey session);

/// The changing part of a session: its row of `#session_states`.
struct SessionState {
  /// The sequence of the newest message that this row includes; `LazySessionRows` knows of later ones.
  std::uint64_t lastSequence = 0;
  /// The sequence of the last message that was acked or deferred.
  std::uint64_t previousSequence = 0;
  /// The highest sequence of this file that the peer is known to have accepted.
  std::uint64_t confirmedSequence = 0;
  WallTime dueAt{};
  /// `dueAt` is valid however far ahead it is.
  bool isFirm = false;
  std::int64_t live = 0;
  std::int64_t failed = 0;
  /// The first live row when it was last seen; a hint.
  delivery::MessageKey head = 0;
};

/// Keeps sessions' states in memory and writes the changed ones once per commit, several rows per statement: most
/// messages change one, and a statement for each was a sixth of a message's cost at the sender. Changes by enqueues,
/// which gather inside nested scopes and may be written by a later commit, are in `LazySessionRows`.
///
/// All in a transaction; changed outside nested scopes only. Code that changes the rows by SQL calls `flush` first and
/// `forget` afterwards. Thread-safety: none.
class SessionStates final : public UnscopedWriteBack {
public:
  SessionStates(sqlite3* connection, std::string_view prefix);

  /// Valid until `flush`. Throws `databaseCorrupt` when the session has no row.
  [[nodiscard]] const SessionState& of(delivery::SessionKey session) { return entryOf(session).state; }
  /// The same, for changes before `flush`.
  [[nodiscard]] SessionState& change(delivery::SessionKey session);
  /// The session's row has just been inserted by `kInsertState`. Allowed in a nested scope: if that is undone, the
  /// cached state is right for the next session that gets the key.
  void created(delivery::SessionKey session) { entries_.try_emplace(session); }
  /// Null if it is not in memory; then its row has all changes.
  [[nodiscard]] const SessionState* known(delivery::SessionKey session) const;

  void flush() override;
  void forget() noexcept override;
  [[nodiscard]] bool isPending() const noexcept override { return !changed_.empty(); }

private:
  struct Entry {
    SessionState state;
    bool isChanged = false;
  };

  Entry& entryOf(delivery::SessionKey session);
  void write(Statement& statement, std::size_t first, std::size_t count);

  Statement select_;
  Statement write_;
  Statement writeMany_;
  std::unordered_map<delivery::SessionKey, Entry> entries_;
  std::vector<delivery::SessionKey> changed_;
};

}  // namespace ackbox::store::sqlite
