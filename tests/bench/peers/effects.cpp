#include "bench/peers/effects.hpp"

#include <set>
#include <string>
#include <unordered_map>

namespace ackbox::bench::peers {
namespace {

SQLite::Database openEffects(const std::filesystem::path& file) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  database.exec("CREATE TABLE effects (position INTEGER PRIMARY KEY, session TEXT NOT NULL, data TEXT NOT NULL)");
  return database;
}

void run(SQLite::Statement& statement) {
  statement.exec();
  statement.reset();
}

}  // namespace

Effects::Effects(const std::filesystem::path& file)
    : database_(openEffects(file)),
      begin_(database_, "BEGIN IMMEDIATE"),
      insert_(database_, "INSERT INTO effects (session, data) VALUES (?, ?)"),
      commit_(database_, "COMMIT") {}

void Effects::begin() {
  run(begin_);
}

void Effects::add(const Message& message) {
  insert_.bindNoCopy(1, message.session);
  insert_.bindNoCopy(2, message.data);
  run(insert_);
}

void Effects::commit() {
  run(commit_);
}

Outcome compareEffects(const std::filesystem::path& file, std::uint64_t sent) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  SQLite::Statement rows(database, "SELECT session, data FROM effects ORDER BY position");
  struct Session {
    std::set<std::uint64_t> places;
    std::uint64_t last = 0;
  };
  std::unordered_map<std::string, Session> sessions;
  Outcome outcome;
  std::uint64_t distinct = 0;
  while (rows.executeStep()) {
    Session& session = sessions[rows.getColumn(0).getString()];
    const std::uint64_t place = placeOf(rows.getColumn(1).getString());
    if (session.places.insert(place).second) {
      ++distinct;
    } else {
      ++outcome.repeated;
    }
    outcome.disordered += place < session.last ? 1 : 0;
    session.last = place;
  }
  outcome.missing = sent > distinct ? sent - distinct : 0;
  return outcome;
}

}  // namespace ackbox::bench::peers
