#include "bench/raw_baseline.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include <cstdint>
#include <vector>

#include "bench/measurement.hpp"
#include "bench/scratch.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {

class RawTable {
public:
  explicit RawTable(const std::filesystem::path& file) : database_(opened(file)) {}

  void insertBatch(std::uint64_t first) {
    std::vector<Frame> frames;
    for (std::uint64_t number = first; number < first + kBatch; ++number) {
      frames.push_back(frameOf(number));
      frames.back().id = orderedId(number);
    }
    synchronous("FULL");
    SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
    for (const Frame& frame : frames) {
      insert_.reset();
      insert_.bindNoCopy(1, frame.id);
      insert_.bindNoCopy(2, frame.session);
      insert_.bindNoCopy(3, frame.data);
      insert_.exec();
    }
    transaction.commit();
  }

  void updateBatch(std::int64_t firstKey) { eachKey(update_, firstKey); }
  void eraseBatch(std::int64_t firstKey) { eachKey(erase_, firstKey); }

private:
  static SQLite::Database opened(const std::filesystem::path& file) {
    SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec("PRAGMA journal_mode=WAL");
    database.exec("PRAGMA secure_delete=OFF");
    database.exec("PRAGMA wal_autocheckpoint=4000");
    database.exec(
        "CREATE TABLE raw (key INTEGER PRIMARY KEY, state INTEGER NOT NULL DEFAULT 0, message_id TEXT, session TEXT, "
        "data TEXT)");
    return database;
  }

  void eachKey(SQLite::Statement& statement, std::int64_t firstKey) {
    synchronous("NORMAL");
    SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
    for (std::int64_t key = firstKey; key < firstKey + kBatch; ++key) {
      statement.reset();
      statement.bind(1, key);
      statement.exec();
    }
    transaction.commit();
  }

  // Through exec: a prepared pragma took effect when it was prepared, and never again.
  void synchronous(const std::string& mode) {
    if (mode != mode_) {
      database_.exec("PRAGMA synchronous=" + mode);
      mode_ = mode;
    }
  }

  SQLite::Database database_;
  std::string mode_;
  SQLite::Statement insert_{database_, "INSERT INTO raw (message_id, session, data) VALUES (?, ?, ?)"};
  SQLite::Statement update_{database_, "UPDATE raw SET state = 1 WHERE key = ?"};
  SQLite::Statement erase_{database_, "DELETE FROM raw WHERE key = ?"};
};

RawInserts::RawInserts(const Settings& settings)
    : file_(freshDatabase(settings.folder, "raw")), table_(std::make_unique<RawTable>(file_)) {}

RawInserts::~RawInserts() {
  table_.reset();
  removeDatabase(file_);
}

std::uint64_t RawInserts::run(Budget& budget) {
  const std::uint64_t before = done_;
  for (; budget.take(kBatch); done_ += kBatch) {
    table_->insertBatch(done_);
  }
  return done_ - before;
}

Pace rawRowLife(const Settings& settings) {
  const std::filesystem::path file = freshDatabase(settings.folder, "raw");
  std::uint64_t done = 0;
  Pace pace;
  {
    RawTable table(file);
    const PaceMeter meter;
    for (Budget budget(settings); budget.take(kBatch); done += kBatch) {
      table.insertBatch(done);
      // The table is empty before each batch, so that SQLite numbers its rows from 1 again.
      table.updateBatch(1);
      table.eraseBatch(1);
    }
    pace = meter.of(done);
  }
  removeDatabase(file);
  return pace;
}

}  // namespace ackbox::bench
