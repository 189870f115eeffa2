#include "simulation/hub.hpp"

#include <algorithm>

namespace ackbox::simulation {

Hub::Hub(const Swarm& swarm, Ledger& ledger, Reach& reach, const testing::Simulation& simulation)
    : swarm_(swarm), ledger_(ledger), reach_(reach), simulation_(simulation) {
  for (std::uint32_t index = 0; index < swarm.mailboxes.takers; ++index) {
    takers_.push_back("box" + std::to_string(index));
  }
  boxes_ = takers_;
  if (swarm.mailboxes.takers > 0) {
    fetcher_ = "fetcher";
    boxes_.push_back(fetcher_);
  }
}

bool Hub::keeps(std::string_view agent) const {
  return std::ranges::find(boxes_, agent) != boxes_.end();
}

std::string Hub::urlOf(const std::string& agent) const {
  return "sim://" + (keeps(agent) ? std::string(kName) : agent);
}

bool Hub::isAwake(const std::string& box) const {
  const auto index = std::ranges::find(boxes_, box) - boxes_.begin();
  const std::chrono::nanoseconds now = simulation_.now();
  // Every second agent is always there.
  return index % 2 != 0 || now < swarm_.mailboxes.asleepFrom || now >= swarm_.mailboxes.asleepUntil;
}

const Hub::Streams* Hub::listening() const {
  const auto found = streams_.find(std::string(kName));
  return found == streams_.end() ? nullptr : &found->second;
}

void Hub::gave(const std::string& process, const std::string& box, const std::string& messageId,
               const std::string& receipt) {
  reach_.saw(Situation::mailGiven);
  lastReceipts_[{process, box}] = receipt;
  if (const Entry* const entry = ledger_.find(messageId); entry != nullptr && entry->to != box) {
    ledger_.violated("P11", messageId + " to " + entry->to + " is given to " + box);
  }
  if (box == fetcher_) {
    fetched_[receipt] = messageId;
    if (!given_.insert(messageId).second) {
      reach_.saw(worked_.contains(messageId) ? Situation::fetchedAfterEffect : Situation::fetchedAgain);
    }
  }
}

std::string Hub::foreignReceipt(const std::string& process, const std::string& box) const {
  for (const std::string& other : boxes_) {
    if (const auto known = lastReceipts_.find({process, other}); other != box && known != lastReceipts_.end()) {
      return known->second;
    }
  }
  return {};
}

void Hub::worked(const std::string& agent, const std::string& messageId) {
  if (agent == fetcher_) {
    worked_.insert(messageId);
    reach_.saw(given_.contains(messageId) ? Situation::fetched : Situation::mailGiven);
  }
}

// ACK events take effect without a handler.
void Hub::reported(const std::string& receipt) {
  const auto known = fetched_.find(receipt);
  if (known == fetched_.end() || ledger_.find(known->second) == nullptr) {
    return;
  }
  if (!worked_.contains(known->second)) {
    ledger_.violated("P5", known->second + " is reported as done, and its agent has not worked on it");
  }
}

// A sender may have less room than the mailbox, but has some. The mailbox has no more frames than its senders have not
// seen end.
void Hub::answered(const std::string& peer, const std::string& messageId, std::chrono::nanoseconds sentAt,
                   const FrameResult& result) {
  if (result.code != "limit-mailbox") {
    return;
  }
  reach_.saw(Situation::mailboxFull);
  // A process learns late what the other process of its file has ended. The ACK events for a fetcher are not known
  // here.
  if (swarm_.shared || peer == fetcher_) {
    return;
  }
  const auto mayWait = [&](const auto& known) {
    const Entry& entry = known.second;
    const bool isOver = entry.ackedAt && *entry.ackedAt < sentAt && entry.redrives == 0 && entry.resends == 0;
    return entry.to == peer && !isOver;
  };
  const auto most = static_cast<std::uint64_t>(std::ranges::count_if(ledger_.entries, mayWait));
  if (!keeps(peer) || most <= 1) {
    ledger_.violated("P12", messageId + " is put off for a full mailbox, and " + peer + " can have " +
                                std::to_string(most) + " of " + std::to_string(swarm_.mailboxes.framesMax) +
                                " frames in it");
  }
}

}  // namespace ackbox::simulation
