#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "simulation/agent_files.hpp"
#include "simulation/common.hpp"

namespace SQLite {
class Database;
}

namespace ackbox::simulation {

/// Programs that read the agents' files with their own SQLite, and hold a snapshot for a while: commits and restarts of
/// the log go on meanwhile.
class Readers {
public:
  Readers(Common& common, const AgentFiles& files);
  ~Readers();
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  /// Begins to hold a snapshot of an agent's file, or ends it.
  void act(const std::string& agent);
  /// Ends a snapshot, which must be the same as at its beginning.
  void end(const std::string& agent);
  void endAll();
  [[nodiscard]] bool holds(const std::string& agent) const { return snapshots_.contains(agent); }

private:
  struct Snapshot {
    std::unique_ptr<SQLite::Database> database;
    std::int64_t effects = 0;
    /// Distinguishes one start of the log from the next.
    std::string log;
  };
  [[nodiscard]] std::string logOf(const std::string& agent) const;

  Common& common_;
  const AgentFiles& files_;
  std::map<std::string, Snapshot> snapshots_;
};

}  // namespace ackbox::simulation
