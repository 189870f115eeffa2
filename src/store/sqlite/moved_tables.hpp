#pragma once

#include <string>
#include <vector>

namespace ackbox::store::sqlite {

/// A table as another store takes it.
struct MovedTable {
  std::string name;
  /// The columns, with commas between them, and how many they are.
  std::string columns;
  int count = 0;
  /// SQL that gives their values.
  std::string select;
};

/// All tables whose rows outlast a process, in the order in which they are moved. There are no claims: the file is
/// settled before.
[[nodiscard]] const std::vector<MovedTable>& movedTables();

}  // namespace ackbox::store::sqlite
