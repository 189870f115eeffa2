#include "simulation/agent_files.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <iterator>

namespace ackbox::simulation {

void AgentFiles::create(const std::string& agent) const {
  SQLite::Database database(of(agent).string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec(
      "CREATE TABLE IF NOT EXISTS effects(at INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT, origin TEXT, session TEXT, "
      "sequence INTEGER, reply TEXT)");
}

void AgentFiles::backUp(const std::string& agent) const {
  std::filesystem::remove(copyOf(agent));
  SQLite::Database(of(agent).string(), SQLite::OPEN_READWRITE).exec("VACUUM INTO '" + copyOf(agent).string() + "'");
}

std::set<std::string> AgentFiles::putBack(const std::string& agent) const {
  const std::set<std::string> before = effectsOf(agent);
  remove(agent);
  std::filesystem::copy_file(copyOf(agent), of(agent));
  const std::set<std::string> after = effectsOf(agent);
  std::set<std::string> undone;
  std::ranges::set_difference(before, after, std::inserter(undone, undone.end()));
  return undone;
}

std::set<std::string> AgentFiles::lose(const std::string& agent) const {
  std::set<std::string> undone = effectsOf(agent);
  remove(agent);
  create(agent);
  return undone;
}

std::set<std::string> AgentFiles::effectsOf(const std::string& agent) const {
  // Opened for writing, because the log of a killed process may have to be recovered.
  SQLite::Database database(of(agent).string(), SQLite::OPEN_READWRITE);
  SQLite::Statement rows(database, "SELECT id FROM effects");
  std::set<std::string> ids;
  while (rows.executeStep()) {
    ids.insert(rows.getColumn(0).getString());
  }
  return ids;
}

void AgentFiles::remove(const std::string& agent) const {
  for (const char* end : {"", "-wal", "-shm"}) {
    std::filesystem::remove(of(agent).string() + end);
  }
}

}  // namespace ackbox::simulation
