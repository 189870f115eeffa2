#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/error.hpp"

namespace ackbox::sqlite {

/// The one mapping of SQLite's (extended) result codes.
[[nodiscard]] Errc errcOf(int extendedCode) noexcept;

/// Throws `Error` for the connection's last failure; `doing` is the statement's text or the step's name.
[[noreturn]] void throwSqlite(sqlite3* connection, std::string_view doing);

/// Replaces each `#` by `prefix`: statements are written once, for every table prefix.
[[nodiscard]] std::string expand(std::string_view sql, std::string_view prefix);

/// Puts `main.` before each `#` that begins the name of a table: a temporary table of the same name, which the program
/// has made on its connection, would otherwise stand for it.
[[nodiscard]] std::string inMain(std::string_view sql);

/// `item` repeated `count` times, separated by commas: for statements of several rows or values.
[[nodiscard]] std::string repeated(std::string_view item, std::size_t count);

/// Runs statements without parameters and results.
void execute(sqlite3* connection, const std::string& sql);

/// Milliseconds since 1970, the form in which columns store instants.
[[nodiscard]] inline std::int64_t millis(WallTime instant) noexcept {
  return instant.time_since_epoch().count();
}
[[nodiscard]] inline WallTime instantOf(std::int64_t milliseconds) noexcept {
  return WallTime(std::chrono::milliseconds(milliseconds));
}

/// Bytes to be bound as a BLOB, whose length SQLite knows without reading it.
struct Blob {
  std::string_view bytes;
};

/// Text that stands for NULL when it is empty.
struct NullIfEmpty {
  std::string_view text;
};

/// A prepared statement on tables of the main file, which is kept for reuse. Must be destroyed before its connection.
class Statement {
public:
  Statement(sqlite3* connection, std::string_view sql, std::string_view prefix);
  Statement(Statement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement() { sqlite3_finalize(handle_); }

private:
  friend class Query;
  sqlite3_stmt* handle_ = nullptr;
};

/// One execution of a statement: binds `values` to ?1, ?2, … and resets the statement at its end. Bound text must
/// outlive the query.
class Query {
public:
  template <typename... Values>
  explicit Query(Statement& statement, const Values&... values) : handle_(statement.handle_) {
    add(values...);
  }
  Query(Statement& statement, std::span<const std::int64_t> values) : handle_(statement.handle_) {
    for (const std::int64_t value : values) {
      add(value);
    }
  }
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  /// Binds further values, before the first step.
  template <typename... Values>
  void add(const Values&... values) {
    (bind(++bound_, values), ...);
  }

  /// Steps to the next row; false at the end.
  bool next();
  /// Steps to the end. Returns the first column of all rows.
  std::vector<std::int64_t> integers();
  /// Steps to the end. Returns how many rows an INSERT, UPDATE or DELETE changed.
  std::size_t run();

  [[nodiscard]] bool isNull(int column) const noexcept;
  [[nodiscard]] std::int64_t integer(int column) const noexcept;
  /// Valid until the next step.
  [[nodiscard]] std::string_view view(int column) const;
  [[nodiscard]] std::string text(int column) const { return std::string(view(column)); }
  template <typename Integer>
  [[nodiscard]] Integer as(int column) const noexcept {
    return static_cast<Integer>(integer(column));
  }
  [[nodiscard]] WallTime instant(int column) const noexcept { return instantOf(integer(column)); }
  [[nodiscard]] std::optional<WallTime> optionalInstant(int column) const noexcept {
    return isNull(column) ? std::nullopt : std::optional(instant(column));
  }

private:
  template <typename Integer>
  requires std::is_integral_v<Integer> || std::is_enum_v<Integer>
  void bind(int index, Integer value) { bindInteger(index, static_cast<std::int64_t>(value)); }
  void bind(int index, std::string_view text);
  void bind(int index, const std::string& text) { bind(index, std::string_view(text)); }
  void bind(int index, Blob blob);
  void bind(int index, NullIfEmpty text);
  void bind(int index, WallTime instant) { bindInteger(index, millis(instant)); }
  template <typename Value>
  void bind(int index, const std::optional<Value>& value) {
    if (value) {
      bind(index, *value);
    } else {
      check(sqlite3_bind_null(handle_, index));
    }
  }
  void bindInteger(int index, std::int64_t value);
  void check(int code) const;

  sqlite3_stmt* handle_;
  int bound_ = 0;
};

/// The first column of the only row, such as a PRAGMA's value.
[[nodiscard]] std::string scalar(sqlite3* connection, std::string_view sql);

/// Reads a row's columns one after the other, into variables of their types.
class Columns {
public:
  explicit Columns(const Query& query) : query_(query) {}

  template <typename Value>
  Columns& operator>>(Value& value) {
    value = read(static_cast<const Value*>(nullptr));
    return *this;
  }
  /// The next column.
  template <typename Value>
  [[nodiscard]] Value next() {
    return read(static_cast<const Value*>(nullptr));
  }
  void skip() noexcept { ++next_; }

private:
  // The pointer only chooses the type.
  template <typename Integer>
  requires std::is_integral_v<Integer> || std::is_enum_v<Integer> Integer read(const Integer* /*type*/) {
    if constexpr (std::is_same_v<Integer, bool>) {
      return query_.integer(next_++) != 0;
    } else {
      return query_.as<Integer>(next_++);
    }
  }
  std::string read(const std::string* /*type*/) { return query_.text(next_++); }
  WallTime read(const WallTime* /*type*/) { return query_.instant(next_++); }
  template <typename Value>
  std::optional<Value> read(const std::optional<Value>* /*type*/) {
    if (query_.isNull(next_)) {
      ++next_;
      return std::nullopt;
    }
    return read(static_cast<const Value*>(nullptr));
  }

  const Query& query_;
  int next_ = 0;
};

}  // namespace ackbox::sqlite
