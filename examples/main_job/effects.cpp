#include "effects.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <stdexcept>
#include <utility>

namespace main_job {
namespace {

constexpr int kBusyTimeoutMilliseconds = 5000;

SQLite::Database openToRead(const std::filesystem::path& database) {
  return SQLite::Database(database.string(), SQLite::OPEN_READONLY, kBusyTimeoutMilliseconds);
}

}  // namespace

void createEffects(const std::filesystem::path& database) {
  SQLite::Database connection(database.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                              kBusyTimeoutMilliseconds);
  connection.exec(
      "CREATE TABLE IF NOT EXISTS effects ("
      "id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, message_id TEXT NOT NULL, data TEXT NOT NULL)");
}

std::vector<Entry> readEffects(const std::filesystem::path& database) {
  const SQLite::Database connection = openToRead(database);
  SQLite::Statement rows(connection, "SELECT session, data, message_id FROM effects ORDER BY id");
  std::vector<Entry> effects;
  while (rows.executeStep()) {
    effects.push_back({rows.getColumn(0).getString(), rows.getColumn(1).getString(), rows.getColumn(2).getString()});
  }
  return effects;
}

std::uint64_t countEffects(const std::filesystem::path& database) {
  const SQLite::Database connection = openToRead(database);
  // Rows are never deleted, so the last id is the count, and reading it costs nothing.
  SQLite::Statement last(connection, "SELECT coalesce(max(id), 0) FROM effects");
  last.executeStep();
  return static_cast<std::uint64_t>(last.getColumn(0).getInt64());
}

void replyIfDue(const ackbox::InboundFrame& frame, const std::string& replyTo,
                ackbox::InboundTransaction& transaction) {
  if (replyTo.empty() || frame.sequence % kReplyEvery != 0) {
    return;
  }
  ackbox::Frame reply;
  reply.peer = replyTo;
  reply.session = frame.session;
  reply.type = "com.example.confirmed";
  reply.data = replyData(frame.sequence);
  reply.correlationId = frame.id;
  const ackbox::EnqueueReceipt receipt = transaction.enqueue(reply);
  if (!receipt.accepted()) {
    // The frame's effect is undone with it; the peer sends it again.
    throw std::runtime_error("the reply was refused: " + receipt.detail);
  }
}

ackbox::FrameHandler effectsHandler(std::string replyTo) {
  return [peer = std::move(replyTo)](const ackbox::InboundFrame& frame, ackbox::InboundTransaction& transaction) {
    SQLite::Statement insert(transaction.database(),
                             "INSERT INTO effects (session, message_id, data) VALUES (?, ?, ?)");
    insert.bind(1, frame.session);
    insert.bind(2, frame.id);
    insert.bind(3, frame.data);
    insert.exec();
    replyIfDue(frame, peer, transaction);
    return ackbox::HandlerResult::ack();
  };
}

}  // namespace main_job
