#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "simulation/hands.hpp"
#include "simulation/ledger.hpp"
#include "simulation/places.hpp"

namespace ackbox {
class OutboxManager;
}

namespace ackbox::simulation {

/// The oracle: compares each store's final state with the ledger of the world.
class Judge {
public:
  explicit Judge(Ledger& ledger) : ledger_(ledger) {}

  /// Reads the messages left in an outbox, and whether its store is sound.
  void readOutbox(const std::string& agent, const OutboxManager& outbox);
  /// Reads the effects at an agent, in order.
  void readEffects(const std::string& agent, const std::vector<Effect>& effects);
  /// Reads the effects at applications, outside of stores.
  void readDeliveries(const Hands& hands);
  /// Checks that each message ended once, in an allowed way.
  void compare();

  [[nodiscard]] std::uint64_t effects() const { return effects_; }
  [[nodiscard]] std::uint64_t deadLetters() const { return dead_.size(); }
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

private:
  void compareCalls();
  void compareOne(const std::string& name, const Entry& entry);
  [[nodiscard]] bool isSuperseded(const std::string& name, const Entry& entry);
  [[nodiscard]] bool hasEnded(const std::string& name, const Entry& entry);
  void digestOf(const std::string& text);

  Ledger& ledger_;
  // By name: effects, and replies according to the effects at their author.
  std::map<std::string, std::uint32_t> counts_;
  std::map<std::string, std::uint32_t> replies_;
  std::set<std::string> dead_;
  std::uint64_t effects_ = 0;
  std::uint64_t digest_ = 14'695'981'039'346'656'037U;
};

}  // namespace ackbox::simulation
