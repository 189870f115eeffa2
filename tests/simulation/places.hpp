#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/options.hpp"
#include "ackbox/outbox_manager.hpp"

namespace ackbox {
class InboundTransaction;
}

namespace ackbox::testing {
class SimulatedProcess;
}

namespace ackbox::simulation {

class AgentFiles;

/// What a handler has done with a frame, as its agent's table of effects has it.
struct Effect {
  std::string id;
  std::string origin;
  std::string session;
  std::uint64_t sequence = 0;
  /// The id of the reply; empty: there is none.
  std::string reply;
};

/// What a program's places are.
struct PlacesKind {
  /// For the report.
  std::string_view name;
  /// Whether they are files: only these are copied, restored and lost, and read by other programs with SQLite.
  bool areFiles = true;
};

/// Where a world's agents have their outboxes, and their tables of effects in the same store.
class Places {
public:
  Places() = default;
  virtual ~Places() = default;
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  /// Makes an agent's place, with its table of effects. Does nothing if it is there.
  virtual void create(const std::string& agent) = 0;
  /// Opens the agent's outbox for a process. `claimsLost` is called when the process goes on and what it has in flight
  /// is anybody's, because its connection to the store was lost. Throws as `OutboxManager::open`.
  [[nodiscard]] virtual OutboxManager open(const std::string& agent, testing::SimulatedProcess& process,
                                           OutboxOptions options, std::function<void()> claimsLost) = 0;
  /// Adds an effect in the handler's transaction. Throws if it fails.
  virtual void write(InboundTransaction& transaction, const Effect& effect) = 0;
  /// All effects of an agent, in their order. To be called when all processes have ended.
  [[nodiscard]] virtual std::vector<Effect> effectsOf(const std::string& agent) = 0;
};

/// Both are defined by each program that runs worlds. The places are those of one world; `files` outlive them.
[[nodiscard]] PlacesKind placesKind();
[[nodiscard]] std::unique_ptr<Places> makePlaces(const AgentFiles& files);

}  // namespace ackbox::simulation
