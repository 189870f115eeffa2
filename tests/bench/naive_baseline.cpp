#include "bench/naive_baseline.hpp"

#include <SQLiteCpp/Transaction.h>

#include "bench/crowd.hpp"
#include "bench/scratch.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

// Long, because SQLite's busy handler sleeps and is not fair: a crowd of 64 keeps some waiting for seconds.
constexpr int kBusyTimeoutMs = 120'000;

SQLite::Database openedTable(const std::filesystem::path& file) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyTimeoutMs);
  database.exec("PRAGMA journal_mode=WAL");
  database.exec("PRAGMA synchronous=FULL");
  database.exec("CREATE TABLE IF NOT EXISTS naive (message_id TEXT PRIMARY KEY, session TEXT, data TEXT)");
  return database;
}

}  // namespace

NaiveTable::NaiveTable(const std::filesystem::path& file)
    : database_(openedTable(file)), insert_(database_, "INSERT INTO naive VALUES (?, ?, ?)") {}

void NaiveTable::insert(const std::string& messageId, const std::string& session, const std::string& data) {
  SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
  insert_.reset();
  insert_.bindNoCopy(1, messageId);
  insert_.bindNoCopy(2, session);
  insert_.bindNoCopy(3, data);
  insert_.exec();
  transaction.commit();
}

Rate naiveInserts(const Settings& settings, unsigned threads) {
  const std::filesystem::path file = freshDatabase(settings.folder, "naive");
  NaiveTable first(file);
  Rate rate = crowd(settings, threads, [&](Budget& budget, std::atomic<std::uint64_t>& numbers, Latencies& latencies) {
    NaiveTable table(file);
    while (budget.take()) {
      const std::uint64_t number = numbers++;
      const Frame frame = frameOf(number);
      const std::string id = orderedId(number);
      const auto start = std::chrono::steady_clock::now();
      table.insert(id, frame.session, frame.data);
      latencies.add(std::chrono::steady_clock::now() - start);
    }
  });
  removeDatabase(file);
  return rate;
}

}  // namespace ackbox::bench
