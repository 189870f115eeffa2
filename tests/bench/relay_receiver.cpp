#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/effects.hpp"
#include "bench/loopback.hpp"
#include "bench/measured_disk.hpp"
#include "bench/relay.hpp"

namespace ackbox::bench {
namespace {

SQLite::Database openedInbox(const std::filesystem::path& file) {
  createEffects(file);
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  database.exec("PRAGMA journal_mode=WAL");
  database.exec("PRAGMA synchronous=FULL");
  database.exec("CREATE TABLE processed (message_id TEXT PRIMARY KEY) WITHOUT ROWID");
  return database;
}

class RelayInbox {
public:
  explicit RelayInbox(const std::filesystem::path& file) : database_(openedInbox(file)) {}

  /// The mark and the effect commit together; what was marked before has taken effect before.
  void take(const std::string& body) {
    const nlohmann::json frame = nlohmann::json::parse(body);
    SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::bind(mark_, frame.at("id").get<std::string>());
    if (mark_.exec() == 1) {
      SQLite::bind(effect_, frame.at("session").get<std::string>(), frame.at("data").dump());
      effect_.exec();
      effect_.reset();
    }
    mark_.reset();
    transaction.commit();
  }

private:
  SQLite::Database database_;
  SQLite::Statement mark_{database_, "INSERT OR IGNORE INTO processed VALUES (?)"};
  SQLite::Statement effect_{database_, "INSERT INTO effects (session, data) VALUES (?, ?)"};
};

}  // namespace

int runRelayReceiver(const std::filesystem::path& file) {
  RelayInbox inbox(file);
  diskCounts().reset();
  std::uint64_t taken = 0;
  serveLoopback([&](const std::string& body) {
    inbox.take(body);
    ++taken;
    return std::string(R"({"ack":true})");
  });
  if (diskCounts().logSyncs < taken) {
    throw std::runtime_error("an effect of the relay was not synced");
  }
  return 0;
}

}  // namespace ackbox::bench
