#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/testing/simulation.hpp"
#include "simulation/ledger.hpp"
#include "simulation/swarm.hpp"

namespace ackbox::simulation {

/// What all agents of a world share.
struct Common {
  const Swarm& swarm;
  Ledger& ledger;
  testing::Simulation& simulation;
  std::vector<std::string> names;
  /// Handlers behave from now on.
  bool healed = false;
  /// The deliberate defect: effects are kept in memory and written after the ACK has left.
  bool canary = false;
};

/// An agent as a user would write one: an outbox, an inbox, a table of effects in the same file, replies.
class Agent {
public:
  /// `listens`: false for a second process on the same file, which only sends.
  Agent(testing::SimulatedProcess& process, Common& common, std::string name, const std::filesystem::path& file,
        bool listens);

  void say(const std::string& id, const std::string& to, const std::string& session);
  [[nodiscard]] OutboxManager& outbox() { return manager_; }

private:
  HandlerResult handle(const InboundFrame& frame, InboundTransaction& transaction);
  void writeEffects(SQLite::Database& database);

  testing::SimulatedProcess& process_;
  Common& common_;
  const std::string name_;
  OutboxManager manager_;
  Subscription acked_;
  Subscription reset_;
  Subscription failed_;
  std::optional<InboundHandler> inbox_;
  struct Effect {
    std::string id;
    std::string origin;
    std::string session;
    std::uint64_t sequence;
  };
  // Only with the canary: what was not written in time.
  std::vector<Effect> late_;
};

}  // namespace ackbox::simulation
