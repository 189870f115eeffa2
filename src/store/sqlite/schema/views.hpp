#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox::store::sqlite {

/// A view of a file, for people and for other programs (docs/sql_views.md). Nothing of ours reads it: a statement that
/// does not name it only pays for its text when a schema is read.
struct View {
  /// With its prefix.
  std::string name;
  /// The statement that makes it, as SQLite keeps it.
  std::string sql;
};
[[nodiscard]] std::vector<View> views(std::string_view prefix);

enum class ViewState : std::uint8_t {
  ours,
  missing,
  /// A view of another text has its name.
  other,
};
[[nodiscard]] ViewState stateOf(sqlite3* connection, const View& view);

/// Makes the views that are missing, and anew those that are others. In the caller's transaction; other objects of
/// these names are refused before.
void restoreViews(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
