#include "simulation/operators.hpp"

#include <string>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"

namespace ackbox::simulation {

void Operators::act(Agent& agent) {
  if (common_.swarm.publishes) {
    for (int time = 0; time < 3; ++time) {
      common_.publications.act(agent.name(), common_.names, agent.outbox());
    }
  }
  switch (drawBelow(common_.simulation.random(), 8)) {
    case 0:
    case 1:
      redriveOrDiscard(agent);
      break;
    case 2:
      giveUpByHand(agent);
      break;
    case 3:
      pauseOrResume(agent);
      break;
    case 4:
      unblock(agent);
      break;
    case 5:
      resend(agent);
      break;
    case 6:
      changePeers(agent);
      break;
    default:
      ask(agent);
      break;
  }
}

// Each effect is recorded before its call, because the call may not return.
void Operators::redriveOrDiscard(Agent& agent) {
  OutboxManager& outbox = agent.outbox();
  for (const MessageInfo& dead : OutboxReader(outbox).deadLetters({}, 100).messages) {
    Entry* const known = common_.ledger.find(dead.messageId);
    Entry event;
    Entry& entry = known == nullptr ? event : *known;
    // The dead letter may block its session.
    common_.watch.released(agent.name(), dead.peer, dead.session);
    if (drawChance(common_.simulation.random(), 0.7)) {
      ++entry.redrives;
      const ChangeReceipt receipt = OutboxOperator(outbox).retry(dead.messageId);
      if (receipt.done()) {
        entry.sequence = receipt.sequence;
        common_.reach.saw(Situation::redriven);
      }
    } else {
      entry.discarded = true;
      common_.publications.discarded(dead.messageId);
      if (OutboxOperator(outbox).discard(dead.messageId).done()) {
        common_.reach.saw(Situation::discarded);
      }
    }
  }
}

void Operators::resend(Agent& agent) {
  MessageFilter filter;
  filter.state = MessageState::acked;
  for (const MessageInfo& message : OutboxReader(agent.outbox()).messages(filter, 3).messages) {
    if (Entry* const entry = common_.ledger.find(message.messageId)) {
      ++entry->redrives;
      ++entry->resends;
      const ChangeReceipt receipt = OutboxOperator(agent.outbox()).resend(message.messageId);
      if (receipt.done()) {
        entry->sequence = receipt.sequence;
        entry->resentAs = entry->resentAs == 0 ? receipt.sequence : entry->resentAs;
        common_.reach.saw(Situation::resentByHand);
      }
    }
  }
}

void Operators::changePeers(Agent& agent) {
  if (!common_.swarm.addsPeers) {
    return;
  }
  if (drawChance(common_.simulation.random(), 0.3)) {
    agent.removePeers();
  }
  agent.addPeers(1 + static_cast<std::uint32_t>(drawBelow(common_.simulation.random(), 8)));
  common_.reach.saw(Situation::peerChanged);
}

void Operators::giveUpByHand(Agent& agent) {
  MessageFilter filter;
  filter.state = drawChance(common_.simulation.random(), 0.5) ? MessageState::pending : MessageState::sent;
  for (const MessageInfo& message : OutboxReader(agent.outbox()).messages(filter, 2).messages) {
    if (Entry* const entry = common_.ledger.find(message.messageId)) {
      entry->markedFailed = true;
      (void)OutboxOperator(agent.outbox()).markFailed(message.messageId, "by-hand");
    }
  }
}

void Operators::pauseOrResume(Agent& agent) {
  Random& random = common_.simulation.random();
  const std::string& peer = common_.names[drawBelow(random, common_.names.size())];
  const std::string session = "s" + std::to_string(drawBelow(random, common_.swarm.sessions));
  switch (drawBelow(random, 4)) {
    case 0:
      (void)OutboxOperator(agent.outbox()).pause(peer);
      break;
    case 1:
      (void)OutboxOperator(agent.outbox()).pause(peer, session);
      common_.watch.halted(agent.name(), peer, session, 0);
      common_.reach.saw(Situation::sessionPaused);
      break;
    default:
      letGo(agent);
      break;
  }
}

void Operators::unblock(Agent& agent) {
  for (const BlockedSession& blocked : OutboxReader(agent.outbox()).blockedSessions()) {
    common_.watch.released(agent.name(), blocked.peer, blocked.session);
    (void)OutboxOperator(agent.outbox()).unblock(blocked.peer, blocked.session);
    common_.reach.saw(Situation::sessionBlocked);
  }
}

void Operators::letGo(Agent& agent) {
  common_.watch.releasedAll(agent.name());
  agent.addPeers();
  for (const std::string& peer : common_.names) {
    (void)OutboxOperator(agent.outbox()).resume(peer);
    for (std::uint32_t session = 0; session < common_.swarm.sessions; ++session) {
      (void)OutboxOperator(agent.outbox()).resume(peer, "s" + std::to_string(session));
    }
  }
  unblock(agent);
}

// Every message in the file must have a reason for its state, and the file must be sound at every moment.
void Operators::ask(Agent& agent) {
  for (const MessageInfo& message : OutboxReader(agent.outbox()).messages({}, 3).messages) {
    const auto explanation = agent.outbox().explain(message.messageId);
    if (!explanation || explanation->sentence.empty()) {
      common_.ledger.violated("P10", message.messageId + " is in the file, and nobody can say why");
    } else {
      common_.reach.explained(*explanation);
    }
  }
  for (const Finding& finding : OutboxReader(agent.outbox()).verify().findings) {
    common_.ledger.violated("P10", agent.name() + " at work: " + finding.table + " row " + std::to_string(finding.row) +
                                       ": " + finding.problem);
  }
}

}  // namespace ackbox::simulation
