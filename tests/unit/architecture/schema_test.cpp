// Goal: proto/schema.md tells of the columns that a file has, and of no others. Method: a file that was just made,
// asked by SQLite itself. That the document is made of the comments in
// src/store/sqlite/schema/tables.cpp, one for each column, is held by scripts/schema_document.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "support/temp_dir.hpp"
#include "unit/architecture/source_tree.hpp"

namespace ackbox::test::schema_test {
namespace {

/// By table: "name TYPE" of each column, in order.
using Columns = std::map<std::string, std::vector<std::string>>;

Columns documented() {
  std::ifstream document(sourceRoot() / "proto/schema.md");
  REQUIRE(document.good());
  const std::regex heading("## `([a-z_0-9]+)`: .+");
  const std::regex row(R"(\| `([a-z_0-9]+)` \| ([A-Z]+) \| (.+) \|)");
  Columns columns;
  std::string table;
  for (std::string line; std::getline(document, line);) {
    std::smatch found;
    if (std::regex_match(line, found, heading)) {
      table = found[1];
    } else if (std::regex_match(line, found, row)) {
      columns[table].push_back(found[1].str() + " " + found[2].str());
    }
  }
  return columns;
}

Columns real(const std::filesystem::path& file) {
  static_cast<void>(OutboxManager::open(file));
  const SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement column(database,
                           "SELECT t.name, c.name, c.type FROM sqlite_master AS t, pragma_table_info(t.name) AS c"
                           " WHERE t.type='table' AND t.name LIKE 'ackbox\\_%' ESCAPE '\\' ORDER BY t.name, c.cid");
  Columns columns;
  while (column.executeStep()) {
    columns[column.getColumn(0)].push_back(column.getColumn(1).getString() + " " + column.getColumn(2).getString());
  }
  return columns;
}

void compare(const Columns& told, const Columns& found) {
  CHECK(told.size() > 10);
  for (const auto& each : found) {
    const std::string& table = each.first;
    REQUIRE_MESSAGE(told.contains(table), table);
    CHECK_MESSAGE(told.at(table) == each.second, table);
  }
  CHECK(told.size() == found.size());
}

TEST_CASE("proto/schema.md has the columns of a new file, in their order, and no others") {
  const testing::TempDir directory;
  compare(documented(), real(directory.file("new.db")));
}

}  // namespace
}  // namespace ackbox::test::schema_test
