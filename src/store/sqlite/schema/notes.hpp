#pragma once

#include <sqlite3.h>

#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/file_info.hpp"

// What openings found of a file's past and people should know, in a table that is made when there is something to note:
// a row for each kind.

namespace ackbox::store::sqlite {

/// Adds a note, or takes the place of the one of its kind. In a transaction. Nothing happens where something that is
/// not ackbox's has the table's name.
void addNote(sqlite3* connection, std::string_view prefix, std::string_view event, std::string_view text, WallTime now);

/// The oldest first.
[[nodiscard]] std::vector<FileNote> notesOf(sqlite3* connection, std::string_view prefix);

/// People have seen them. In a transaction.
void dropNotes(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
