#include "simulation/publications.hpp"

#include <algorithm>

#include "ackbox/error.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "simulation/swarm.hpp"

namespace ackbox::simulation {
namespace {

constexpr std::uint64_t kSeed = 0x7B1D'52E0'99C4'4F21U;

bool fits(const std::string& pattern, const std::string& type) {
  return pattern.ends_with('*') ? type.starts_with(pattern.substr(0, pattern.size() - 1)) : type == pattern;
}

}  // namespace

Publications::Publications(Ledger& ledger, Reach& reach, std::uint64_t seed)
    : ledger_(ledger), reach_(reach), random_(seededRandom(seed ^ kSeed)) {}

void Publications::act(const std::string& agent, const std::vector<std::string>& names, OutboxManager& outbox) {
  if (drawChance(*random_, 0.4)) {
    change(names, outbox);
  } else {
    publish(agent, outbox);
  }
}

void Publications::change(const std::vector<std::string>& names, OutboxManager& outbox) {
  const std::string& peer = names[drawBelow(*random_, names.size())];
  const std::string name = peer + (drawChance(*random_, 0.5) ? " by type" : "");
  if (drawChance(*random_, 0.4)) {
    (void)OutboxOperator(outbox).unsubscribe(name);
    return;
  }
  const std::string type = std::string(kType) + (name == peer ? "*" : drawChance(*random_, 0.5) ? ".a" : ".b");
  try {
    (void)OutboxOperator(outbox).subscribe({.name = name, .peer = peer, .type = type});
    reach_.saw(Situation::subscribed);
  } catch (const Error& error) {
    // An operator has removed the peer.
    if (error.code() != Errc::unknownPeer) {
      throw;
    }
  }
}

// The key and the expectation are recorded before the call, because the call may not return.
void Publications::publish(const std::string& agent, OutboxManager& outbox) {
  Open& open = open_[agent];
  if (open.key.empty()) {
    open.key = "publication " + std::to_string(++published_);
    open.type = std::string(kType) + (drawChance(*random_, 0.5) ? ".a" : ".b");
  }
  Peers expected;
  for (const PeerSubscription& one : OutboxReader(outbox).subscriptions()) {
    if (fits(one.type, open.type)) {
      expected.insert(one.peer);
    }
  }
  open.expected.push_back(std::move(expected));
  Frame frame;
  frame.session = drawChance(*random_, 0.2) ? "" : "published";
  frame.type = open.type;
  frame.data = "{}";
  frame.idempotencyKey = open.key;
  const PublishReceipt receipt = outbox.publish(frame);
  if (receipt.status == PublishStatus::queueFull) {
    return;
  }
  compare(agent, open, receipt, outbox);
  // Some publishes are repeated, though their receipt is known.
  if (receipt.status == PublishStatus::duplicate || drawChance(*random_, 0.7)) {
    open_.erase(agent);
  }
}

void Publications::compare(const std::string& agent, const Open& open, const PublishReceipt& receipt,
                           const OutboxManager& outbox) {
  const bool isRepeated = receipt.status == PublishStatus::duplicate;
  Peers told;
  for (const PublishedMessage& message : receipt.messages) {
    if (!told.insert(message.peer).second) {
      ledger_.violated("P5", open.key + " of " + agent + " is twice for " + message.peer);
    }
    Message& known = messages_[message.messageId];
    const std::optional<MessageInfo> stored = outbox.find(message.messageId);
    if ((!isRepeated && !stored) || (stored && stored->peer != message.peer) ||
        (!known.to.empty() && known.to != message.peer)) {
      ledger_.violated("P2", open.key + " of " + agent + ": " + message.messageId + " is not for " + message.peer);
    }
    known.from = agent;
    known.to = message.peer;
  }
  const bool isExpected =
      isRepeated ? std::ranges::find(open.expected, told) != open.expected.end() : told == open.expected.back();
  if (!isExpected || !(receipt.accepted() || receipt.status == PublishStatus::noSubscriber)) {
    ledger_.violated("P2", open.key + " of " + agent + " is " + std::string(toString(receipt.status)) + " for " +
                               std::to_string(told.size()) + " peers, and " +
                               std::to_string(open.expected.back().size()) + " had subscribed: " + receipt.detail);
  }
  reach_.saw(isRepeated                 ? Situation::publishRepeated
             : receipt.messages.empty() ? Situation::publishedToNobody
                                        : Situation::published);
}

void Publications::took(const std::string& agent, const std::string& messageId) {
  Message& message = messages_[messageId];
  if (!message.to.empty() && message.to != agent) {
    ledger_.violated("P11", messageId + " for " + message.to + " reached " + agent);
  }
  message.to = agent;
  message.hasEnded = true;
}

void Publications::discarded(const std::string& messageId) {
  if (const auto known = messages_.find(messageId); known != messages_.end()) {
    known->second.hasEnded = true;
  }
}

void Publications::judge(const std::string& agent, const OutboxManager& outbox) {
  for (const auto& [id, message] : messages_) {
    if (message.from == agent && !message.hasEnded && !outbox.find(id)) {
      ledger_.violated("P3", id + " was published by " + agent + " to " + message.to + " and is lost");
    }
  }
}

}  // namespace ackbox::simulation
