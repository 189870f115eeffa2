#include "bench/effects.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "bench/workload.hpp"

namespace ackbox::bench {

void createEffects(const std::filesystem::path& file) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("CREATE TABLE effects (position INTEGER PRIMARY KEY, session TEXT NOT NULL, data TEXT NOT NULL)");
}

FrameHandler effectHandler() {
  // Prepared once, on the store's only write connection.
  const auto insert = std::make_shared<std::unique_ptr<SQLite::Statement>>();
  return [insert](const InboundFrame& frame, InboundTransaction& transaction) {
    if (!*insert) {
      *insert = std::make_unique<SQLite::Statement>(transaction.database(),
                                                    "INSERT INTO effects (session, data) VALUES (?, ?)");
    }
    SQLite::Statement& statement = **insert;
    statement.reset();
    statement.bindNoCopy(1, frame.session);
    statement.bindNoCopy(2, frame.data);
    statement.exec();
    // Not left active: an open statement would hold the transaction's end.
    statement.reset();
    return HandlerResult::ack();
  };
}

void verifyEffects(const std::filesystem::path& file, std::uint64_t expected) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  SQLite::Statement rows(database, "SELECT session, data FROM effects ORDER BY position");
  std::unordered_map<std::string, std::uint64_t> places;
  std::uint64_t count = 0;
  for (; rows.executeStep(); ++count) {
    const std::string session = rows.getColumn(0).getString();
    const std::uint64_t place = placeOf(rows.getColumn(1).getString());
    std::uint64_t& last = places[session];
    if (place != last + 1) {
      throw std::runtime_error("in " + session + ", message " + std::to_string(place) + " took effect after " +
                               std::to_string(last));
    }
    last = place;
  }
  if (count != expected) {
    throw std::runtime_error(std::to_string(count) + " effects for " + std::to_string(expected) + " messages");
  }
}

}  // namespace ackbox::bench
