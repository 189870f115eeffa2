#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "support/temp_dir.hpp"

namespace ackbox::simulation {

/// The agents' files in an administrator's hands: copies them while they are in use, restores copies, loses files.
class AgentFiles {
public:
  explicit AgentFiles(const testing::TempDir& dir) : dir_(dir) {}

  [[nodiscard]] std::filesystem::path of(const std::string& agent) const { return dir_.file(agent + ".db"); }
  /// Makes an agent's table of effects.
  void create(const std::string& agent) const;
  void backUp(const std::string& agent) const;
  /// To be called while no process of the agent runs. Returns the ids of the messages that had taken effect in the file
  /// and are missing in its replacement.
  [[nodiscard]] std::set<std::string> putBack(const std::string& agent) const;
  [[nodiscard]] std::set<std::string> lose(const std::string& agent) const;

private:
  [[nodiscard]] std::filesystem::path copyOf(const std::string& agent) const { return dir_.file(agent + ".copy"); }
  [[nodiscard]] std::set<std::string> effectsOf(const std::string& agent) const;
  void remove(const std::string& agent) const;

  const testing::TempDir& dir_;
};

}  // namespace ackbox::simulation
