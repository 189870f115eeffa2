#pragma once

#include <sqlite3.h>

#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/file_info.hpp"

// Findings of openings that an operator should know, in a table with a row for each kind; it is created for the first
// note.

namespace ackbox::store::sqlite {

/// Adds a note, or replaces the one of its kind. In a transaction. Does nothing if a foreign object has the table's
/// name.
void addNote(sqlite3* connection, std::string_view prefix, std::string_view event, std::string_view text, WallTime now);

/// All notes, the oldest first.
[[nodiscard]] std::vector<FileNote> notesOf(sqlite3* connection, std::string_view prefix);

/// Deletes the notes, which an operator has seen. In a transaction.
void dropNotes(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
