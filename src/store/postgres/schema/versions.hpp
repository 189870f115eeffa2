#pragma once

#include <span>

namespace ackbox::store::postgres {

/// How tables of one version become those of the next. Nothing else uses the tables meanwhile, and the functions are
/// made anew afterwards.
struct Migration {
  int from = 0;
  int to = 0;
  /// `#` stands for the schema's name.
  const char* statements = nullptr;
  /// The change in a sentence, for people.
  const char* change = nullptr;
};

/// The tables that a program works with, and the ways to them from those of earlier versions.
struct Schema {
  int version = 0;
  /// Programs that know this version or a later one may work with these tables, by their own statements and with the
  /// functions of these: all that has been added since may be left out, and no function has another signature. Other
  /// programs are stopped.
  int least = 0;
  /// The statements that make the schema and its tables, and those that make its functions or replace them.
  const char* tables = nullptr;
  /// In a function, `@version` stands for the version.
  const char* functions = nullptr;
  /// One from each earlier version, in their order.
  std::span<const Migration> migrations = {};
};

/// This program's. What opens a database keeps it until its end. Thread-safety: from any thread.
[[nodiscard]] const Schema& currentSchema() noexcept;

/// For tests of migrations: until the end of this object, what opens a database is of a program with `schema`.
class SchemaInPlace {
public:
  explicit SchemaInPlace(const Schema& schema) noexcept;
  ~SchemaInPlace();
  SchemaInPlace(const SchemaInPlace&) = delete;
  SchemaInPlace& operator=(const SchemaInPlace&) = delete;

private:
  const Schema* const former_;
};

}  // namespace ackbox::store::postgres
