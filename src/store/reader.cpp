#include "store/reader.hpp"

#include <mutex>

#include "store/connection.hpp"
#include "store/counters.hpp"

namespace ackbox::store {
namespace {

// Read-write, so that the last connection to close can fold the log into the file; `query_only` keeps it from writing.
SQLite::Database openForReading(const std::filesystem::path& file, const OutboxOptions& options) {
  SQLite::Database database = openDatabase(file, options, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX);
  execute(database.getHandle(), "PRAGMA query_only=ON");
  execute(database.getHandle(), "PRAGMA wal_autocheckpoint=0");
  return database;
}

/// One snapshot for several statements.
class Snapshot {
public:
  explicit Snapshot(sqlite3* connection) : connection_(connection) { execute(connection, "BEGIN"); }
  ~Snapshot() { sqlite3_exec(connection_, "ROLLBACK", nullptr, nullptr, nullptr); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

private:
  sqlite3* connection_;
};

}  // namespace

struct Reader::Body {
  Body(const std::filesystem::path& file, const OutboxOptions& options)
      : database(openForReading(file, options)),
        counters(database.getHandle(), options.tablePrefix),
        oldest(database.getHandle(),
               "SELECT id,created_at_ms FROM #outbox WHERE id>=?1 AND state IN (0,1,2) ORDER BY id LIMIT 1",
               options.tablePrefix),
        find(
            database.getHandle(),
            "SELECT p.name,s.name,o.type,o.sequence,o.state,o.retry_count,o.created_at_ms,max(o.due_at_ms,"
            "s.due_at_ms*(o.state=0)),o.reason,o.last_error FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id "
            "JOIN #peers AS p ON p.id=s.peer_id WHERE o.message_id=?1",
            options.tablePrefix) {}

  std::mutex mutex;
  // Guarded by mutex.
  SQLite::Database database;
  Counters counters;
  Statement oldest;
  Statement find;
  // No row below it is live, nor ever will be: a redriven message gets a new key.
  std::int64_t oldestKey = 0;
};

Reader::Reader(const std::filesystem::path& file, const OutboxOptions& options)
    : body_(std::make_unique<Body>(file, options)) {}

Reader::~Reader() = default;

Stats Reader::stats() const {
  const std::scoped_lock lock(body_->mutex);
  const Snapshot snapshot(body_->database.getHandle());
  body_->counters.forget();
  Stats stats = toStats(body_->counters.values());
  if (stats.pending + stats.sending + stats.sent != 0) {
    Query query(body_->oldest, body_->oldestKey);
    if (query.next()) {
      body_->oldestKey = query.integer(0);
      stats.oldestPendingAt = query.instant(1);
    }
  }
  return stats;
}

std::optional<MessageInfo> Reader::find(std::string_view messageId) const {
  const std::scoped_lock lock(body_->mutex);
  Query query(body_->find, messageId);
  if (!query.next()) {
    return std::nullopt;
  }
  MessageInfo info;
  info.messageId = std::string(messageId);
  info.peer = query.text(0);
  info.session = query.text(1);
  info.type = query.text(2);
  info.sequence = query.as<std::uint64_t>(3);
  info.state = query.as<MessageState>(4);
  info.retryCount = query.as<std::uint32_t>(5);
  info.enqueuedAt = query.instant(6);
  info.dueAt = query.instant(7);
  info.reason = query.text(8);
  info.lastError = query.text(9);
  return info;
}

}  // namespace ackbox::store
