#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/random.hpp"
#include "simulation/ledger.hpp"
#include "simulation/reach.hpp"

namespace ackbox::simulation {

/// Publishes to subscribers that change: each subscriber at the time gets one message, and a repetition under the same
/// idempotency key names the same ones. In worlds without accidents to files.
///
/// Draws from a generator of its own, so that worlds that do not publish do not change.
class Publications {
public:
  Publications(Ledger& ledger, Reach& reach, std::uint64_t seed);

  /// The type of the frames.
  static constexpr std::string_view kType = "sim.published";

  /// Changes a subscription of the agent's file, or publishes to it. Throws `Error` if its process dies meanwhile.
  void act(const std::string& agent, const std::vector<std::string>& names, OutboxManager& outbox);
  /// A handler of `agent` was given the message.
  void took(const std::string& agent, const std::string& messageId);
  /// An operator is about to discard a dead letter.
  void discarded(const std::string& messageId);
  /// At the end: each message has an outcome.
  void judge(const std::string& agent, const OutboxManager& outbox);

private:
  using Peers = std::set<std::string>;
  /// A publish that has not returned.
  struct Open {
    std::string key;
    std::string type;
    /// Who had subscribed at each attempt.
    std::vector<Peers> expected;
  };
  struct Message {
    std::string from;
    std::string to;
    bool hasEnded = false;
  };

  void change(const std::vector<std::string>& names, OutboxManager& outbox);
  void publish(const std::string& agent, OutboxManager& outbox);
  void compare(const std::string& agent, const Open& open, const PublishReceipt& receipt, const OutboxManager& outbox);

  Ledger& ledger_;
  Reach& reach_;
  const std::shared_ptr<Random> random_;
  // By agent.
  std::map<std::string, Open> open_;
  // By id. Those that were taken before a receipt named them have no sender.
  std::map<std::string, Message> messages_;
  std::uint64_t published_ = 0;
};

}  // namespace ackbox::simulation
