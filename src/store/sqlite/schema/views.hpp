#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ackbox::store::sqlite {

/// A view in a file, for people and for other programs (docs/sql_views.md). ackbox itself does not read it: a statement
/// that does not name it only pays for parsing its text when the schema is read.
struct View {
  /// With its prefix.
  std::string name;
  /// The statement that makes it, as SQLite keeps it.
  std::string sql;
};
[[nodiscard]] std::vector<View> views(std::string_view prefix);

}  // namespace ackbox::store::sqlite
