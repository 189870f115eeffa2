#pragma once

#include <sqlite3.h>

#include <string>
#include <vector>

#include "ackbox/diagnosis.hpp"

namespace ackbox::store::sqlite {

/// What SQLite finds in the file's pages.
struct PageCheck {
  /// At most 100, or 100 of each table where the tables are checked one by one.
  std::vector<Finding> findings = {};
  /// The application's tables that are not checked: their indexes need its functions or collations.
  std::vector<std::string> notChecked = {};
};

/// Throws `Error`.
[[nodiscard]] PageCheck checkPages(sqlite3* connection);

}  // namespace ackbox::store::sqlite
