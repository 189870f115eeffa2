#include "sqlite/statement.hpp"

#include <algorithm>
#include <array>

namespace ackbox::sqlite {

Errc errcOf(int extendedCode) noexcept {
  if (extendedCode == SQLITE_IOERR_NOMEM) {
    return Errc::outOfMemory;
  }
  if (extendedCode == SQLITE_CONSTRAINT_COMMITHOOK) {
    return Errc::handlerEndedTransaction;
  }
  if (extendedCode == SQLITE_IOERR_SHMSIZE) {
    // The log's shared memory is a file on the same disk, and could not grow.
    return Errc::diskFull;
  }
  switch (extendedCode & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    // The log's shared memory was locked for too long.
    case SQLITE_PROTOCOL:
      return Errc::databaseBusy;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Errc::databaseReadOnly;
    case SQLITE_FULL:
      return Errc::diskFull;
    case SQLITE_IOERR:
      return Errc::ioError;
    case SQLITE_NOTADB:
      return Errc::notADatabase;
    case SQLITE_CORRUPT:
      return Errc::databaseCorrupt;
    case SQLITE_CANTOPEN:
      return Errc::cannotOpen;
    case SQLITE_NOMEM:
      return Errc::outOfMemory;
    default:
      return Errc::databaseError;
  }
}

namespace {

// The table with an AUTOINCREMENT that is exhausted, which SQLite reports as a full disk; empty if no table is.
std::string tableWithoutNumbers(sqlite3* connection) {
  sqlite3_stmt* statement = nullptr;
  std::string name;
  if (sqlite3_prepare_v2(connection, "SELECT name FROM main.sqlite_sequence WHERE seq=9223372036854775807", -1,
                         &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != nullptr) {
    name = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  }
  sqlite3_finalize(statement);
  return name;
}

}  // namespace

void throwSqlite(sqlite3* connection, std::string_view doing) {
  const int code = sqlite3_extended_errcode(connection);
  // Names the statement only where the code names no cause; elsewhere SQL would hide the cause.
  std::string what = errcOf(code) == Errc::databaseError ? std::string(doing) + ": " : std::string();
  what += std::string(sqlite3_errmsg(connection)) + " (SQLite code " + std::to_string(code) + ")";
  if (code == SQLITE_FULL) {
    if (const std::string table = tableWithoutNumbers(connection); !table.empty()) {
      throw Error(Errc::databaseCorrupt,
                  "sqlite_sequence leaves no number for a new row of " + table + ": ackbox repair FILE");
    }
  }
  if (code == SQLITE_INTERRUPT) {
    // On a connection of ackbox itself it is `limitWork`, or the connection is being closed.
    what += ": by the program, or because the file makes SQLite compute for longer than its size explains";
  }
  throw Error(errcOf(code), what);
}

std::string expand(std::string_view sql, std::string_view prefix) {
  std::string expanded;
  expanded.reserve(sql.size() + 4 * prefix.size());
  for (std::size_t mark = sql.find('#'); mark != std::string_view::npos; mark = sql.find('#')) {
    expanded.append(sql.substr(0, mark)).append(prefix);
    sql.remove_prefix(mark + 1);
  }
  return expanded.append(sql);
}

std::string inMain(std::string_view sql) {
  static constexpr std::array<std::string_view, 4> kBeforeTable = {"FROM ", "JOIN ", "INTO ", "UPDATE "};
  std::string placed;
  placed.reserve(sql.size() + sql.size() / 8);
  for (const char character : sql) {
    if (character == '#' &&
        std::ranges::any_of(kBeforeTable, [&](std::string_view word) { return placed.ends_with(word); })) {
      placed.append("main.");
    }
    placed.push_back(character);
  }
  return placed;
}

std::string repeated(std::string_view item, std::size_t count) {
  std::string list;
  list.reserve(count * (item.size() + 1));
  for (std::size_t place = 0; place < count; ++place) {
    list.append(place == 0 ? "" : ",").append(item);
  }
  return list;
}

void execute(sqlite3* connection, const std::string& sql) {
  if (sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throwSqlite(connection, sql);
  }
}

Statement::Statement(sqlite3* connection, std::string_view sql, std::string_view prefix) {
  const std::string text = expand(inMain(sql), prefix);
  if (sqlite3_prepare_v3(connection, text.c_str(), static_cast<int>(text.size()) + 1, SQLITE_PREPARE_PERSISTENT,
                         &handle_, nullptr) != SQLITE_OK) {
    throwSqlite(connection, text);
  }
}

Query::~Query() {
  sqlite3_reset(handle_);
}

bool Query::next() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code != SQLITE_DONE) {
    throwSqlite(sqlite3_db_handle(handle_), sqlite3_sql(handle_));
  }
  return false;
}

std::vector<std::int64_t> Query::integers() {
  std::vector<std::int64_t> all;
  while (next()) {
    all.push_back(integer(0));
  }
  return all;
}

std::size_t Query::run() {
  while (next()) {
  }
  return static_cast<std::size_t>(sqlite3_changes(sqlite3_db_handle(handle_)));
}

bool Query::isNull(int column) const noexcept {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::int64_t Query::integer(int column) const noexcept {
  return sqlite3_column_int64(handle_, column);
}

std::string_view Query::view(int column) const {
  const void* bytes = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  return bytes == nullptr ? std::string_view()
                          : std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

void Query::bind(int index, std::string_view text) {
  // A null pointer would bind NULL where empty text is meant.
  check(sqlite3_bind_text64(handle_, index, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Query::bind(int index, Blob blob) {
  check(sqlite3_bind_blob64(handle_, index, blob.bytes.empty() ? "" : blob.bytes.data(), blob.bytes.size(),
                            SQLITE_STATIC));
}

void Query::bind(int index, NullIfEmpty text) {
  if (text.text.empty()) {
    check(sqlite3_bind_null(handle_, index));
  } else {
    bind(index, text.text);
  }
}

void Query::bindInteger(int index, std::int64_t value) {
  check(sqlite3_bind_int64(handle_, index, value));
}

void Query::check(int code) const {
  if (code != SQLITE_OK) {
    throwSqlite(sqlite3_db_handle(handle_), sqlite3_sql(handle_));
  }
}

std::string scalar(sqlite3* connection, std::string_view sql) {
  Statement statement(connection, sql, {});
  Query query(statement);
  return query.next() ? query.text(0) : std::string();
}

}  // namespace ackbox::sqlite
