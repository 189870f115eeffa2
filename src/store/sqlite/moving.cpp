#include "store/sqlite/moving.hpp"

#include <utility>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "base/options.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/snapshot.hpp"
#include "sqlite/transaction.hpp"
#include "store/sqlite/log_keeper.hpp"
#include "store/sqlite/moved_tables.hpp"
#include "store/sqlite/open.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/schema/schema.hpp"
#include "store/sqlite/schema/versions.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

OutboxOptions existing(OutboxOptions options) {
  options.createSchema = false;
  return validated(std::move(options));
}

// An opening puts back what dead processes had in flight, and writes what the file's last transactions left to later
// ones.
void settle(const std::filesystem::path& file, const OutboxOptions& options) {
  static_cast<void>(openStore(file, options));
  // A damaged row would be a sound one in the database, which has no checksum of rows.
  const VerifyReport report = verify(file, options);
  if (!report.findings.empty()) {
    const Finding& first = report.findings.front();
    throw Error(Errc::databaseCorrupt, "it breaks " + std::to_string(report.findings.size()) +
                                           " invariants, which ackbox verify shows, first: " + first.table + " " +
                                           std::to_string(first.row) + ": " + first.problem);
  }
}

/// The mark, before which the file may be opened as any other.
std::optional<MovedMark> settledMark(const std::filesystem::path& file, const OutboxOptions& options) {
  std::optional<MovedMark> mark = movedMark(ReadConnection(file, options).getHandle(), options.tablePrefix);
  if (!mark) {
    settle(file, options);
  }
  return mark;
}

}  // namespace

struct MovingFile::Impl {
  Impl(const std::filesystem::path& file, const OutboxOptions& givenOptions)
      : options(existing(givenOptions)),
        mark(settledMark(file, options)),
        connection(file, options, [](sqlite3*) {}),
        liveness(kernelLiveness(sqlite::ownersFile(connection.handle(), options.tablePrefix),
                                sqlite3_db_filename(connection.handle(), "main"))),
        logKeeper(connection, options, liveness),
        transaction(connection) {
    read(
        "SELECT m.origin,m.epoch,m.orders,m.recalls,m.inbox_orders,c.last_key,coalesce((SELECT seq FROM "
        "sqlite_sequence WHERE name='#inbox'),0),(SELECT version FROM #schema) FROM #meta AS m,#counters AS c",
        [this](Query& row) {
          outbox = {row.text(0),    row.as<std::uint64_t>(1), row.integer(2), row.integer(3),
                    row.integer(4), row.integer(5),           row.integer(6)};
          if (row.integer(7) != currentSchema().version) {
            throw Error(Errc::schemaOutdated, "the release of ackbox that began the move must end it");
          }
        });
  }

  template <typename Take>
  void read(std::string_view sql, const Take& take) const {
    Statement statement(connection.handle(), sql, options.tablePrefix);
    for (Query query(statement); query.next();) {
      take(query);
    }
  }

  void begin() {
    transaction.begin(true);
    logKeeper.requireFit(true);
    // A process that was killed since the file was settled counts, too: the next run settles it.
    read("SELECT id FROM #owners", [](Query&) {
      throw Error(Errc::alreadyRunning, "a process has the file open, or had it a moment ago: end it, and try again");
    });
  }

  /// Changes the mark in a transaction, which may be open.
  template <typename Change>
  void durably(const Change& change) {
    try {
      if (!transaction.open()) {
        begin();
      }
      change();
      transaction.commit();
    } catch (...) {
      transaction.rollback();
      logKeeper.failed();
      throw;
    }
    logKeeper.committed();
  }

  void set(MovedMark wanted) {
    durably([&] { setMovedMark(connection.handle(), options.tablePrefix, wanted, options.clock->wallNow()); });
    mark = std::move(wanted);
  }

  const OutboxOptions options;
  std::optional<MovedMark> mark;
  Connection connection;
  const std::shared_ptr<Liveness> liveness;
  LogKeeper logKeeper;
  Transaction transaction;
  MovedOutbox outbox;
};

MovingFile::MovingFile(const std::filesystem::path& file, const OutboxOptions& options)
    : impl_(std::make_unique<Impl>(file, options)) {}

MovingFile::~MovingFile() {
  if (impl_->transaction.open()) {
    impl_->transaction.rollback();
  }
}

const std::optional<MovedMark>& MovingFile::marked() const noexcept {
  return impl_->mark;
}

const MovedOutbox& MovingFile::outbox() const noexcept {
  return impl_->outbox;
}

void MovingFile::mark(const std::string& database, const std::string& name) {
  impl_->set({database, name, false});
}

void MovingFile::unmark() {
  impl_->durably([this] { removeMovedMark(impl_->connection.handle(), impl_->options.tablePrefix); });
  impl_->mark.reset();
}

void MovingFile::read(MovedRows& rows) {
  impl_->begin();
  std::vector<std::optional<std::string_view>> values;
  for (const MovedTable& table : movedTables()) {
    rows.begin(table.name, table.columns);
    impl_->read(table.select, [&](Query& row) {
      values.clear();
      for (int column = 0; column < table.count; ++column) {
        values.push_back(row.isNull(column) ? std::nullopt : std::optional(row.view(column)));
      }
      rows.add(values);
    });
  }
}

void MovingFile::finish() {
  impl_->set({impl_->mark->database, impl_->mark->name, true});
}

}  // namespace ackbox::store::sqlite
