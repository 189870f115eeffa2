#pragma once

#include <sqlite3.h>

#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox::store::sqlite {

/// The mark of a file whose outbox goes to a database, or has gone there: a table of its own, which few files have, and
/// a trigger that refuses the messages of connections that were open before. Its outbox is not used while it is marked.
struct MovedMark {
  /// Names the database for `ackbox move`, and for people.
  std::string database = {};
  std::string name = {};
  /// The database has the outbox; otherwise it may have it.
  bool isComplete = false;

  [[nodiscard]] std::string whereTo() const { return (isComplete ? "moved to " : "a move was begun to ") + name; }
};

[[nodiscard]] std::optional<MovedMark> movedMark(sqlite3* connection, std::string_view prefix);

/// Throws `databaseMoved` if the file is marked.
void requireNotMoved(sqlite3* connection, std::string_view prefix);

/// Sets or changes the mark, or takes it away. In a transaction.
void setMovedMark(sqlite3* connection, std::string_view prefix, const MovedMark& mark, WallTime now);
void removeMovedMark(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
