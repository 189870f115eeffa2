#include "bench/relay.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/child_process.hpp"
#include "bench/effects.hpp"
#include "bench/loopback.hpp"
#include "bench/measured_disk.hpp"
#include "bench/measurement.hpp"
#include "bench/scratch.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

SQLite::Database openedRows(const std::filesystem::path& file) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("PRAGMA journal_mode=WAL");
  database.exec("PRAGMA synchronous=FULL");
  database.exec(
      "CREATE TABLE relay (id INTEGER PRIMARY KEY, state INTEGER NOT NULL DEFAULT 0, message_id TEXT NOT NULL UNIQUE, "
      "session TEXT NOT NULL, data TEXT NOT NULL)");
  database.exec("CREATE INDEX relay_next ON relay (id) WHERE state = 0");
  return database;
}

class Relay {
public:
  Relay(const std::filesystem::path& file, const std::string& port)
      : database_(openedRows(file)), post_(connectLoopback(port)) {}

  void fill(std::uint64_t first, std::uint64_t rows) {
    SQLite::Statement insert(database_, "INSERT INTO relay (message_id, session, data) VALUES (?, ?, ?)");
    SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
    for (std::uint64_t number = first; number < first + rows; ++number) {
      const Frame frame = frameOf(number);
      SQLite::bind(insert, orderedId(number), frame.session, frame.data);
      insert.exec();
      insert.reset();
    }
    transaction.commit();
  }

  /// One message. Throws when there is none, or when it was not taken.
  void deliverNext() {
    next_.reset();
    if (!next_.executeStep()) {
      throw std::runtime_error("the relay has no row");
    }
    const std::int64_t id = next_.getColumn(0);
    std::string frame = R"({"id":")" + next_.getColumn(1).getString() + R"(","session":")" +
                        next_.getColumn(2).getString() + R"(","data":)" + next_.getColumn(3).getString() + "}";
    // Not left active while the network is waited for.
    next_.reset();
    if (nlohmann::json::parse(post_(std::move(frame))).at("ack") != true) {
      throw std::runtime_error("the relay's receiver did not take a message");
    }
    erase_.bind(1, id);
    erase_.exec();
    erase_.reset();
  }

private:
  SQLite::Database database_;
  SQLite::Statement next_{database_,
                          "SELECT id, message_id, session, data FROM relay WHERE state = 0 ORDER BY id LIMIT 1"};
  SQLite::Statement erase_{database_, "DELETE FROM relay WHERE id = ?"};
  const Post post_;
};

RelayPace relayAll(const Settings& settings, Relay& relay, std::uint64_t& sent) {
  constexpr std::uint64_t kSlice = 1'000;
  std::uint64_t stored = 0;
  std::uint64_t syncs = 0;
  std::chrono::steady_clock::duration spent{0};
  for (Budget budget(settings); budget.take(); ++sent) {
    if (sent == stored) {
      relay.fill(stored, kSlice);
      stored += kSlice;
    }
    const std::uint64_t syncsBefore = diskCounts().logSyncs;
    const auto start = std::chrono::steady_clock::now();
    relay.deliverNext();
    spent += std::chrono::steady_clock::now() - start;
    syncs += diskCounts().logSyncs - syncsBefore;
  }
  if (syncs < sent) {
    throw std::runtime_error("a deletion of the relay was not synced");
  }
  return {perSecond(sent, spent), static_cast<double>(syncs) / static_cast<double>(sent)};
}

}  // namespace

RelayPace relayed(const Settings& settings) {
  const std::filesystem::path senderFile = freshDatabase(settings.folder, "sender");
  const std::filesystem::path receiverFile = freshDatabase(settings.folder, "receiver");
  ChildProcess receiver({"--role", "relay", "--file", receiverFile.string()});
  RelayPace pace;
  std::uint64_t sent = 0;
  {
    Relay relay(senderFile, receiver.readLine());
    pace = relayAll(settings, relay, sent);
  }
  receiver.finish();
  verifyEffects(receiverFile, sent);
  removeDatabase(senderFile);
  removeDatabase(receiverFile);
  return pace;
}

}  // namespace ackbox::bench
