#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "simulation/common.hpp"
#include "simulation/fetcher.hpp"
#include "simulation/inbox.hpp"
#include "simulation/puller.hpp"

namespace ackbox::simulation {

/// An agent as a user would write it: an outbox, an inbox, a table of effects in the same store, replies.
class Agent {
public:
  enum class Role {
    /// Enqueues, listens and delivers.
    whole,
    /// A second process on the same outbox: enqueues, delivers, and works on frames that the first has deferred.
    second,
    /// Like `whole`, but delivers by claims.
    pulls,
    /// Like `whole`, but fetches its frames from its mailbox instead of listening.
    fetches,
  };
  Agent(testing::SimulatedProcess& process, Common& common, Place place, Role role);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Enqueues the ledger's entry `name`. `attempt`: from 1 on for a repeated enqueue, otherwise 0.
  void say(const std::string& name, std::uint32_t attempt);
  [[nodiscard]] OutboxManager& outbox() { return manager_; }
  [[nodiscard]] testing::SimulatedProcess& process() { return process_; }
  [[nodiscard]] const std::string& name() const { return place_.agent; }
  /// Adds, or changes, the peers that are in no configuration. Throws `Error` if the process dies meanwhile.
  void addPeers(std::uint32_t maxRequests = 8);
  /// Removes those to which no message waits. Throws like `addPeers`.
  void removePeers();

private:
  [[nodiscard]] OutboxOptions options();
  [[nodiscard]] PeerOptions peerOf(const std::string& name) const;
  [[nodiscard]] bool isAdded(const std::string& name) const;
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
  // How often this process got a report, by peer and session, that the peer knows another file.
  std::map<std::pair<std::string, std::string>, std::uint32_t> disowned_;
  std::optional<Inbox> inbox_;
  std::optional<Fetcher> fetcher_;
  std::optional<Puller> puller_;
};

}  // namespace ackbox::simulation
