#include <string>
#include <utility>

#include "ackbox/error.hpp"
#include "ackbox/postgres.hpp"
#include "base/options.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/moving.hpp"
#include "store/sqlite/moving.hpp"

// An outbox moves from a file to a database. The file is marked first, the database has all of it in one transaction,
// and then the file's mark says so. Between the last two, the database may have an outbox whose file is marked as if it
// had not: the next call finds it there.

namespace ackbox {
namespace {

using store::postgres::MovedDatabase;
using store::sqlite::MovingFile;

/// Counts rows as they pass.
class Counted final : public store::MovedRows {
public:
  Counted(store::MovedRows& rows, const MoveProgress& progress) : rows_(rows), progress_(progress) {}

  void begin(std::string_view table, std::string_view columns) override {
    table_ = table;
    ofTable_ = 0;
    rows_.begin(table, columns);
  }
  void add(std::span<const std::optional<std::string_view>> row) override {
    constexpr std::uint64_t kEvery = 1'000;
    rows_.add(row);
    ++all_;
    if (++ofTable_ % kEvery == 0 && progress_) {
      progress_(table_, ofTable_);
    }
  }
  [[nodiscard]] std::uint64_t all() const noexcept { return all_; }

private:
  store::MovedRows& rows_;
  const MoveProgress& progress_;
  std::string table_;
  std::uint64_t ofTable_ = 0;
  std::uint64_t all_ = 0;
};

/// Whether the database has the outbox already. Throws if the two do not belong to each other.
bool isThere(const MovingFile& file, MovedDatabase& database, const std::string& identity) {
  if (file.marked() && file.marked()->database != identity) {
    throw Error(Errc::databaseMoved, file.marked()->whereTo() + ", which is another");
  }
  const MovedDatabase::Found found = database.beginMove(file.outbox());
  if (found == MovedDatabase::Found::anotherOutbox) {
    throw Error(Errc::invalidOption,
                "the database has another outbox: name an empty database, or drop its schema ackbox");
  }
  if (found == MovedDatabase::Found::thisOutbox && !file.marked()) {
    throw Error(Errc::databaseMoved, "the database has this outbox already, and this file is an older copy of it");
  }
  return found == MovedDatabase::Found::thisOutbox;
}

}  // namespace

MoveReport moveOutbox(const std::filesystem::path& path, const PostgresLocation& location, OutboxOptions givenOptions,
                      const MoveProgress& progress) {
  const OutboxOptions options = validated(std::move(givenOptions));
  MovedDatabase database(location.text, options);
  MovingFile file(path, options);
  const std::string identity = database.identity();
  MoveReport report{.origin = file.outbox().origin};
  if (!isThere(file, database, identity)) {
    if (file.marked() && file.marked()->isComplete) {
      throw Error(Errc::databaseMoved, "moved to this database, which has lost it");
    }
    if (!file.marked()) {
      file.mark(identity, postgres::nameOf(location.text));
    }
    Counted rows(database, progress);
    try {
      file.read(rows);
      database.complete(file.outbox());
    } catch (...) {
      // The database certainly has nothing of it.
      file.unmark();
      throw;
    }
    report.rows = rows.all();
    database.commit();
  }
  if (!file.marked()->isComplete) {
    file.finish();
  }
  return report;
}

}  // namespace ackbox
