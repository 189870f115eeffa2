#pragma once

#include <sqlite3.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/diagnosis.hpp"

namespace ackbox::store::sqlite {

/// What must hold of a file's rows, and what `repair` makes of those where it does not hold. What would be a guess,
/// such as the number of a session whose state is gone, stays.
struct Rule {
  const char* table = nullptr;
  const char* problem = nullptr;
  /// Gives the id of each row that breaks it. `~` is the message id of `o`, a row of the outbox, `$` joins, as `t`,
  /// what the messages say of `m`, a session's state, and `@` is a table that counts each sender's rows.
  const char* sql = nullptr;
  /// What `repair` makes of them, or why it does nothing.
  const char* outcome = nullptr;
  /// Does that, and returns the ids; `{}` is `sql`. Empty: a recount does it. Null: nothing does.
  const char* mend = nullptr;
};

/// All of them, in the order in which they are checked and mended.
[[nodiscard]] std::span<const Rule> rules() noexcept;

/// The statement that `text`, a rule's `sql` or `mend`, stands for, but for the prefix. Without `hasIndexes`, it names
/// no index.
[[nodiscard]] std::string statementOf(const Rule& rule, const char* text, bool hasIndexes);

/// What is wrong with the file: with its pages, as SQLite says, with its tables, indexes and views, with each value by
/// itself, and by the rules; of each check, the first 100. Throws `Error`. With `saysWhy`, each finding says, too, why
/// `repair` leaves it, where a rule knows.
[[nodiscard]] std::vector<Finding> findingsOf(sqlite3* connection, std::string_view prefix, bool saysWhy);

}  // namespace ackbox::store::sqlite
