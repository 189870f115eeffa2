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

/// SQL: gives the session with the key ?1 a state, if it has none.
inline constexpr std::string_view kInsertState = "INSERT OR IGNORE INTO #session_states VALUES(?1,0,0,0,0,0,0,0,0)";

/// Throws `databaseCorrupt`.
[[noreturn]] void throwStateMissing(delivery::SessionKey session);

/// What moves of a session: its row of `#session_states`.
struct SessionState {
  /// Of its newest message that is written here; `LazySessionRows` knows of later ones.
  std::uint64_t lastSequence = 0;
  /// Of the last message stood by: acked or deferred.
  std::uint64_t previousSequence = 0;
  /// The highest that the peer is known to have accepted of this file.
  std::uint64_t confirmedSequence = 0;
  WallTime dueAt{};
  /// `dueAt` stands however far ahead it is.
  bool isFirm = false;
  std::int64_t live = 0;
  std::int64_t failed = 0;
  /// Its first live row when last seen; a hint.
  delivery::MessageKey head = 0;
};

/// Keeps sessions' states in memory and writes what has changed once a commit, several rows to a statement: most
/// messages change one, and a statement for each was a sixth of what a message takes the sender. What enqueues change,
/// which is gathered inside nested scopes and may be written by a later commit, is in `LazySessionRows`.
///
/// All in a transaction; changed outside nested scopes only. Code that changes the rows by SQL calls `flush` first and
/// `forget` afterwards. Thread-safety: none.
class SessionStates final : public UnscopedWriteBack {
public:
  SessionStates(sqlite3* connection, std::string_view prefix);

  /// Valid until `flush`. Throws `databaseCorrupt` when the session has no row.
  [[nodiscard]] const SessionState& of(delivery::SessionKey session) { return entryOf(session).state; }
  /// The same, to be changed before `flush`.
  [[nodiscard]] SessionState& change(delivery::SessionKey session);
  /// The session's row was made just now, by `kInsertState`. Even in a nested scope: when that is undone, what is
  /// remembered is true of the session that gets the key next.
  void created(delivery::SessionKey session) { entries_.try_emplace(session); }
  /// Null: it is not in memory, so its row is all there is.
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
