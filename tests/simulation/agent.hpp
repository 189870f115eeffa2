#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "simulation/common.hpp"
#include "simulation/inbox.hpp"
#include "simulation/puller.hpp"

namespace ackbox::simulation {

/// An agent as a user would write one: an outbox, an inbox, a table of effects in the same file, replies.
class Agent {
public:
  enum class Role {
    /// Speaks, listens and delivers.
    whole,
    /// A second process on the same file: speaks, delivers, and works on what the first has deferred.
    second,
    /// As `whole`, but delivers by claims.
    pulls,
  };
  Agent(testing::SimulatedProcess& process, Common& common, Place place, const std::filesystem::path& file, Role role);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Says what the ledger has under `name`. `attempt`: from 1 where it is said again and again, else 0.
  void say(const std::string& name, std::uint32_t attempt);
  [[nodiscard]] OutboxManager& outbox() { return manager_; }
  [[nodiscard]] testing::SimulatedProcess& process() { return process_; }
  [[nodiscard]] const std::string& name() const { return place_.agent; }

private:
  [[nodiscard]] OutboxOptions options();
  [[nodiscard]] FailureDecision decide(const FailureContext& failure);
  void subscribe();
  void failed(const FailedEvent& event);
  void forgotten(const PeerResetEvent& event);

  testing::SimulatedProcess& process_;
  Common& common_;
  const Place place_;
  OutboxManager manager_;
  Subscription acked_;
  Subscription sent_;
  Subscription reset_;
  Subscription failed_;
  Subscription retried_;
  std::vector<Subscription> reach_;
  // How often this process was told, of a peer and a session, that they know another file.
  std::map<std::pair<std::string, std::string>, std::uint32_t> disowned_;
  std::optional<Inbox> inbox_;
  std::optional<Puller> puller_;
};

}  // namespace ackbox::simulation
