#pragma once

#include <sqlite3.h>

#include <string_view>

#include "ackbox/clock.hpp"

// Effect once in the application's own file: the tables of the clients' `create_marks` and `createMarks`, so that a
// program may change from one to the other.

namespace ackbox::extension {

/// Makes the tables, unless they exist.
void createMarks(sqlite3* connection);

/// A message's place in its session.
struct Place {
  std::string_view source;
  std::string_view origin;
  std::string_view session;
  /// From 1 on.
  std::int64_t sequence = 0;
};

/// Notes that the message at `place` takes effect. True: it is new; false: it, or a later one of its session, was noted
/// before. In the caller's transaction; the tables are made where they are missing.
[[nodiscard]] bool mark(sqlite3* connection, const Place& place);
/// The same for a message outside sessions, at the instant `now`.
[[nodiscard]] bool markId(sqlite3* connection, std::string_view source, std::string_view id, WallTime now);

}  // namespace ackbox::extension
