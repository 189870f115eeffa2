#include "simulation/readers.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <fstream>
#include <utility>

namespace ackbox::simulation {
namespace {

std::int64_t effectsIn(SQLite::Database& database) {
  return database.execAndGet("SELECT count(*) FROM effects").getInt64();
}

}  // namespace

Readers::Readers(Common& common, const AgentFiles& files) : common_(common), files_(files) {}

Readers::~Readers() = default;

void Readers::act(const std::string& agent) {
  if (snapshots_.contains(agent)) {
    end(agent);
    return;
  }
  try {
    Snapshot snapshot;
    snapshot.database = std::make_unique<SQLite::Database>(files_.of(agent).string(), SQLite::OPEN_READWRITE);
    snapshot.database->exec("BEGIN");
    snapshot.effects = effectsIn(*snapshot.database);
    snapshot.log = logOf(agent);
    snapshots_.emplace(agent, std::move(snapshot));
  } catch (const SQLite::Exception&) {
    // A process that died at the disk has left its locks or its log: this is tried again later.
  }
}

void Readers::end(const std::string& agent) {
  const auto ended = snapshots_.extract(agent);
  if (ended.empty()) {
    return;
  }
  const Snapshot& snapshot = ended.mapped();
  if (!snapshot.log.empty() && logOf(agent) != snapshot.log) {
    common_.reach.saw(Situation::logBeganAnew);
  }
  if (effectsIn(*snapshot.database) != snapshot.effects) {
    common_.ledger.violated("P2", "a reader of the file of " + agent + " saw in one snapshot two states of it");
  }
}

void Readers::endAll() {
  while (!snapshots_.empty()) {
    end(std::string(snapshots_.begin()->first));
  }
}

// The salts of the log's header. SQLite's locks are on other files, so reading this one drops no lock.
std::string Readers::logOf(const std::string& agent) const {
  constexpr std::streamoff kSalts = 16;
  std::string salts(8, '\0');
  std::ifstream log(files_.of(agent).string() + "-wal", std::ios::binary);
  log.seekg(kSalts);
  log.read(salts.data(), static_cast<std::streamsize>(salts.size()));
  return log ? salts : "";
}

}  // namespace ackbox::simulation
