#include "simulation/judge.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"

namespace ackbox::simulation {

void Judge::readOutbox(const std::string& agent, const OutboxManager& outbox) {
  std::int64_t after = 0;
  do {
    const DeadLetterPage page = OutboxReader(outbox).deadLetters({}, 1'000, after);
    for (const MessageInfo& dead : page.messages) {
      dead_.insert(nameOf(dead.messageId));
      if (dead.reason.empty()) {
        ledger_.violated("P3", dead.messageId + " is a dead letter without a reason");
      }
    }
    after = page.next;
  } while (after != 0);
  for (const MessageState state : {MessageState::pending, MessageState::sending, MessageState::sent}) {
    MessageFilter filter;
    filter.state = state;
    after = 0;
    do {
      const MessagePage page = OutboxReader(outbox).messages(filter, 1'000, after);
      for (const MessageInfo& message : page.messages) {
        if (Entry* const entry = ledger_.find(message.messageId)) {
          entry->isKept = true;
        }
      }
      after = page.next;
    } while (after != 0);
  }
  for (const Finding& finding : OutboxReader(outbox).verify().findings) {
    ledger_.violated("P10",
                     agent + ": " + finding.table + " row " + std::to_string(finding.row) + ": " + finding.problem);
  }
}

void Judge::readEffects(const std::string& agent, const std::vector<Effect>& effects) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> last;
  for (const Effect& effect : effects) {
    const std::string name = nameOf(effect.id);
    ++effects_;
    ++counts_[name];
    if (!effect.reply.empty()) {
      ++replies_[effect.reply];
    }
    digestOf(agent + effect.id + std::to_string(effect.sequence));
    std::uint64_t& before = last[{effect.origin, effect.session}];
    if (!effect.session.empty() && effect.sequence <= before) {
      ledger_.violated("P4", agent + ": " + effect.id + " of session " + effect.session + " took effect as " +
                                 std::to_string(effect.sequence) + " after " + std::to_string(before));
    }
    before = effect.sequence;
    if (!ledger_.entries.contains(name)) {
      ledger_.violated("P5", agent + ": nobody ever said " + effect.id);
    }
  }
}

void Judge::readDeliveries(const Hands& hands) {
  for (const auto& [delivery, state] : hands.deliveries()) {
    const auto& [agent, origin, session, id, sequence] = delivery;
    if (state != Hands::State::given) {
      ++effects_;
      ++counts_[nameOf(id)];
      digestOf(agent + id + std::to_string(sequence));
    }
  }
}

void Judge::compare() {
  for (const auto& [name, entry] : ledger_.entries) {
    compareOne(name, entry);
  }
  compareCalls();
  for (const auto& [reply, count] : replies_) {
    const Entry& entry = ledger_.entries[reply];
    if (count > 1) {
      ledger_.violated("P5", reply + " was said by " + std::to_string(count) + " effects");
    }
    if (counts_[reply] == 0 && !dead_.contains(reply) && !entry.discarded) {
      ledger_.violated("P5", reply + " from " + entry.from + " to " + entry.to + " was said by an effect and is lost");
    }
  }
}

// One process's calls are stored in their order, whichever way each took to the file.
void Judge::compareCalls() {
  // A restored file counts from an earlier number.
  if (ledger_.hasAccidents) {
    return;
  }
  std::map<std::tuple<std::string, std::string, std::string>, std::map<std::uint64_t, const std::string*>> calls;
  for (const auto& [name, entry] : ledger_.entries) {
    if (entry.call != 0 && entry.storedAs != 0) {
      calls[{entry.saidBy, entry.to, entry.session}][entry.call] = &name;
    }
  }
  for (const auto& [lane, ofLane] : calls) {
    std::uint64_t before = 0;
    for (const auto& [call, name] : ofLane) {
      const std::uint64_t stored = ledger_.entries.at(*name).storedAs;
      if (stored <= before) {
        ledger_.violated("P4", *name + " was stored as " + std::to_string(stored) +
                                   " after a call that was stored as " + std::to_string(before));
      }
      before = stored;
    }
  }
}

void Judge::compareOne(const std::string& name, const Entry& entry) {
  const std::uint32_t count = counts_[name];
  const bool ended = hasEnded(name, entry);
  // Outside sessions only the id identifies repetitions, including those of a dead letter by an operator. What was
  // acknowledged may be sent again after its mark has ended.
  const std::uint32_t most = 1 + (entry.session.empty() ? entry.resends : entry.redrives);
  if (count > most) {
    ledger_.violated("P5", name + " took effect " + std::to_string(count) + " times, at most " + std::to_string(most) +
                               " were right");
  }
  // Whatever its outcome there, only its author's operator has it worked on again, unless its receiver forgot it.
  if (entry.deferrals > 1 + entry.redrives && !ledger_.hasAccidents) {
    ledger_.violated("P5", name + " was deferred " + std::to_string(entry.deferrals) + " times, and redriven " +
                               std::to_string(entry.redrives) + " times");
  }
  if (entry.confirmed && !ended && !isSuperseded(name, entry)) {
    ledger_.violated("P3", name + " from " + entry.from + " to " + entry.to + ", session " + entry.session +
                               ", sequence " + std::to_string(entry.sequence) + " was enqueued and is lost");
  }
  // After an accident the message may have been restored, and then have ended in another way.
  if (entry.acked && count == 0 && !(ledger_.hasAccidents && (ended || isSuperseded(name, entry)))) {
    ledger_.violated("P5", name + " was acknowledged without an effect");
  }
  if (name.starts_with("re-") && ended && !replies_.contains(name)) {
    ledger_.violated("P5", name + " was said by an effect that was undone");
  }
}

// Whether a later message of its session with its key supersedes it.
bool Judge::isSuperseded(const std::string& name, const Entry& entry) {
  if (entry.supersedeKey.empty()) {
    return false;
  }
  return std::any_of(ledger_.entries.begin(), ledger_.entries.end(), [&](const auto& other) {
    const auto& [otherName, later] = other;
    return otherName != name && later.supersedeKey == entry.supersedeKey && later.session == entry.session &&
           later.from == entry.from && later.to == entry.to &&
           (later.sequence == 0 || later.sequence > entry.sequence) && hasEnded(otherName, later);
  });
}

// Whether it ended in an allowed way, is kept with a reason to wait, or was lost with a file.
bool Judge::hasEnded(const std::string& name, const Entry& entry) {
  return counts_[name] > 0 || dead_.contains(name) || entry.discarded || entry.isKept || entry.lostWithFile ||
         entry.mayStayUndone || (ledger_.hasAccidents && entry.toldFailed);
}

void Judge::digestOf(const std::string& text) {
  for (const char byte : text) {
    digest_ = (digest_ ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211U;
  }
}

}  // namespace ackbox::simulation
