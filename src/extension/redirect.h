#pragma once

// Comes before every source of the extension (`-include`), also those that the library is made of: what they call of
// SQLite goes through the functions that the host gives it. The extension has no SQLite of its own.

#include <sqlite3ext.h>

extern "C" {
SQLITE_EXTENSION_INIT3
}
