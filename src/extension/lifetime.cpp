#include "extension/lifetime.hpp"

#include <new>

#include "extension/binding.hpp"
#include "sqlite/statement.hpp"

namespace ackbox::extension {
namespace {

/// SQLite's own part comes first.
struct Table {
  sqlite3_vtab base = {};
  Binding* binding = nullptr;
};

struct Cursor {
  sqlite3_vtab_cursor base = {};
};

int connect(sqlite3* connection, void* binding, int /*arguments*/, const char* const* /*names*/, sqlite3_vtab** made,
            char** /*error*/) {
  if (const int failed = sqlite3_declare_vtab(connection, "CREATE TABLE lifetime(empty)"); failed != SQLITE_OK) {
    return failed;
  }
  sqlite3_vtab_config(connection, SQLITE_VTAB_DIRECTONLY);
  auto* const table = new (std::nothrow) Table;
  if (table == nullptr) {
    return SQLITE_NOMEM;
  }
  table->binding = static_cast<std::shared_ptr<Binding>*>(binding)->get();
  *made = &table->base;
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* base) {
  auto* const table = reinterpret_cast<Table*>(base);
  table->binding->release();
  delete table;
  return SQLITE_OK;
}

int bestIndex(sqlite3_vtab* /*table*/, sqlite3_index_info* /*plan*/) {
  return SQLITE_OK;
}

int openCursor(sqlite3_vtab* /*table*/, sqlite3_vtab_cursor** made) {
  auto* const cursor = new (std::nothrow) Cursor;
  if (cursor == nullptr) {
    return SQLITE_NOMEM;
  }
  *made = &cursor->base;
  return SQLITE_OK;
}

int closeCursor(sqlite3_vtab_cursor* base) {
  delete reinterpret_cast<Cursor*>(base);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* /*cursor*/, int /*plan*/, const char* /*text*/, int /*count*/,
           sqlite3_value** /*values*/) {
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* /*cursor*/) {
  return SQLITE_OK;
}

int atEnd(sqlite3_vtab_cursor* /*cursor*/) {
  return 1;
}

int column(sqlite3_vtab_cursor* /*cursor*/, sqlite3_context* /*context*/, int /*column*/) {
  return SQLITE_OK;
}

int rowId(sqlite3_vtab_cursor* /*cursor*/, sqlite3_int64* id) {
  *id = 0;
  return SQLITE_OK;
}

// Without xCreate it needs no CREATE VIRTUAL TABLE, and is in no file.
sqlite3_module moduleOf() noexcept {
  sqlite3_module module = {};
  module.xConnect = connect;
  module.xBestIndex = bestIndex;
  module.xDisconnect = disconnect;
  module.xOpen = openCursor;
  module.xClose = closeCursor;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = atEnd;
  module.xColumn = column;
  module.xRowid = rowId;
  return module;
}

}  // namespace

int addLifetime(sqlite3* connection, const std::shared_ptr<Binding>& binding) {
  static const sqlite3_module module = moduleOf();
  return sqlite3_create_module_v2(connection, "ackbox_lifetime", &module, new std::shared_ptr<Binding>(binding),
                                  [](void* kept) { delete static_cast<std::shared_ptr<Binding>*>(kept); });
}

void keepUntilClose(sqlite3* connection) {
  // Preparing it connects the table; it stays so.
  const sqlite::Statement statement(connection, "SELECT empty FROM ackbox_lifetime", {});
}

}  // namespace ackbox::extension
