#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "support/temp_dir.hpp"

namespace ackbox::simulation {

/// The agents' files as an administrator treats them: copies them while they are in use, puts copies back, loses them.
class AgentFiles {
public:
  explicit AgentFiles(const testing::TempDir& dir) : dir_(dir) {}

  [[nodiscard]] std::filesystem::path of(const std::string& agent) const { return dir_.file(agent + ".db"); }
  /// Makes an agent's table of effects.
  void create(const std::string& agent) const;
  void backUp(const std::string& agent) const;
  /// None of the agent's processes runs. What had taken effect in the file and is not in what replaces it, by the id of
  /// the message.
  [[nodiscard]] std::set<std::string> putBack(const std::string& agent) const;
  [[nodiscard]] std::set<std::string> lose(const std::string& agent) const;

private:
  [[nodiscard]] std::filesystem::path copyOf(const std::string& agent) const { return dir_.file(agent + ".copy"); }
  [[nodiscard]] std::set<std::string> effectsOf(const std::string& agent) const;
  void remove(const std::string& agent) const;

  const testing::TempDir& dir_;
};

}  // namespace ackbox::simulation
