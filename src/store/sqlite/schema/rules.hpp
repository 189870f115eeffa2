#pragma once

#include <sqlite3.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/diagnosis.hpp"

namespace ackbox::store::sqlite {

/// A condition on a file's rows, and how `repair` mends rows that break it. Repairs that would be guesses, such as the
/// number of a session without a state, are not made.
struct Rule {
  const char* table = nullptr;
  const char* problem = nullptr;
  /// Returns the id of each row that breaks the rule. `~` is the message id of `o`, a row of the outbox; `$` joins, as
  /// `t`, the facts that the messages show about `m`, a session's state; `@` is a table that counts each sender's rows.
  const char* sql = nullptr;
  /// The effect of `repair`, or why it does nothing.
  const char* outcome = nullptr;
  /// Mends the rows, and returns their ids; `{}` is `sql`. Empty: a recount mends them. Null: nothing does.
  const char* mend = nullptr;
};

/// All rules, in the order in which they are checked and mended.
[[nodiscard]] std::span<const Rule> rules() noexcept;

/// Expands `text`, a rule's `sql` or `mend`, to its statement, but not the prefix. Without `hasIndexes`, it names no
/// index.
[[nodiscard]] std::string statementOf(const Rule& rule, const char* text, bool hasIndexes);

/// The errors of the file: in its pages, according to SQLite; in its tables, indexes and views; in single values; and
/// by the rules. At most 100 per check. Throws `Error`. With `saysWhy`, a finding also says why `repair` leaves it, if
/// a rule knows. `notChecked`, if given, gets the tables of `PageCheck::notChecked`.
[[nodiscard]] std::vector<Finding> findingsOf(sqlite3* connection, std::string_view prefix, bool saysWhy,
                                              std::vector<std::string>* notChecked = nullptr);

}  // namespace ackbox::store::sqlite
