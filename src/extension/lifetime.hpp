#pragma once

#include <sqlite3.h>

#include <memory>

namespace ackbox::extension {

class Binding;

/// SQLite refuses to close a connection, or keeps it half open, while a statement of it is left, and functions end only
/// after the close. Virtual tables end before it: this module makes one without rows, and its end releases
/// `binding`.
/// Returns SQLite's result code.
int addLifetime(sqlite3* connection, const std::shared_ptr<Binding>& binding);

/// Opens that table, if it is not open: before a statement is kept. Throws `Error`.
void keepUntilClose(sqlite3* connection);

}  // namespace ackbox::extension
