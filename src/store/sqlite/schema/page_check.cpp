#include "store/sqlite/schema/page_check.hpp"

#include "ackbox/error.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr int kFindingsMost = 100;

/// Does not look at CHECKs, which may call functions of the application; `rules.cpp` has what ours say.
class WithoutChecks {
public:
  explicit WithoutChecks(sqlite3* connection) : connection_(connection) {
    execute(connection, "PRAGMA ignore_check_constraints=ON");
  }
  ~WithoutChecks() { sqlite3_exec(connection_, "PRAGMA ignore_check_constraints=OFF", nullptr, nullptr, nullptr); }
  WithoutChecks(const WithoutChecks&) = delete;
  WithoutChecks& operator=(const WithoutChecks&) = delete;

private:
  sqlite3* const connection_;
};

/// Checks `what`: all of the file, up to as many findings, or the table of this name. False: SQLite cannot check this,
/// because a function or a collation of the application is missing here.
template <typename What>
bool check(sqlite3* connection, const What& what, std::vector<Finding>& findings) {
  try {
    Statement statement(connection, "SELECT * FROM pragma_integrity_check(?1)", {});
    for (Query query(statement, what); query.next();) {
      if (query.view(0) != "ok") {
        findings.push_back({{}, 0, query.text(0)});
      }
    }
    return true;
  } catch (const Error& error) {
    if (error.code() != Errc::databaseError || (sqlite3_errcode(connection) & 0xff) != SQLITE_ERROR) {
      throw;
    }
    return false;
  }
}

std::vector<std::string> tablesOf(sqlite3* connection) {
  std::vector<std::string> names;
  Statement statement(connection, "SELECT name FROM sqlite_schema WHERE type='table' AND rootpage<>0", {});
  for (Query query(statement); query.next();) {
    names.push_back(query.text(0));
  }
  return names;
}

}  // namespace

PageCheck checkPages(sqlite3* connection) {
  PageCheck made;
  if (check(connection, kFindingsMost, made.findings)) {
    return made;
  }
  const WithoutChecks withoutChecks(connection);
  if (check(connection, kFindingsMost, made.findings)) {
    return made;
  }
  for (const std::string& table : tablesOf(connection)) {
    if (!check(connection, table, made.findings)) {
      made.notChecked.push_back(table);
    }
  }
  return made;
}

}  // namespace ackbox::store::sqlite
