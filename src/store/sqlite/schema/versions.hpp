#pragma once

#include <cstdint>
#include <span>

namespace ackbox::store::sqlite {

/// How tables of one version become those of the next.
struct Migration {
  std::int64_t from = 0;
  std::int64_t to = 0;
  /// `#` is the table prefix. There are no views meanwhile.
  const char* statements = nullptr;
  /// The change in a sentence, for people.
  const char* change = nullptr;
};

/// The tables that a program works with, and the ways to them from those of earlier versions.
struct Schema {
  std::int64_t version = 0;
  /// The statements that make the tables and their indexes; `#` is the table prefix.
  const char* tables = nullptr;
  /// One from each earlier version, in their order.
  std::span<const Migration> migrations = {};
};

/// This program's. Thread-safety: from any thread.
[[nodiscard]] const Schema& currentSchema() noexcept;

/// For tests of migrations: until the end of this object, `schema` is this program's. No file may be open at its
/// beginning and at its end.
class SchemaInPlace {
public:
  explicit SchemaInPlace(const Schema& schema) noexcept;
  ~SchemaInPlace();
  SchemaInPlace(const SchemaInPlace&) = delete;
  SchemaInPlace& operator=(const SchemaInPlace&) = delete;
};

}  // namespace ackbox::store::sqlite
