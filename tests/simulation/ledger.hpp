#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox::simulation {

/// The world's own record of one message, independent of every store.
struct Entry {
  std::string from;
  std::string to;
  /// Empty: unordered.
  std::string session;
  /// The wishes of its author.
  std::string supersedeKey;
  std::optional<WallTime> notBefore;
  std::optional<WallTime> expiresAt;
  /// The time of its enqueue, by its author's calendar.
  WallTime saidAt{};
  /// The enqueue returned: the message must not be lost any more.
  bool confirmed = false;
  std::uint64_t sequence = 0;
  /// The process that enqueued it and the number of that call, 0 if other calls may overtake it; and the sequence that
  /// the call returned.
  std::string saidBy;
  std::uint64_t call = 0;
  std::uint64_t storedAs = 0;
  /// A handler refused it for good, so it may end as a dead letter.
  bool rejected = false;
  /// How often a handler put it off or threw an exception; it may have been charged at most this often.
  std::uint32_t refusals = 0;
  /// A handler deferred it: its deadline may charge it, and its receiver may give it up.
  bool deferred = false;
  /// How often an operator redrove it: each may repeat the effect.
  std::uint32_t redrives = 0;
  /// How often of these it had been acknowledged before.
  std::uint32_t resends = 0;
  /// Its number after the first of these; 0: it was never sent again so, or is unordered.
  std::uint64_t resentAs = 0;
  /// How often its author got the answer that it was newly accepted, to be worked on later.
  std::uint32_t deferrals = 0;
  /// An operator made it a dead letter.
  bool markedFailed = false;
  /// Its sender's failure function gave it up.
  bool givenUp = false;
  /// An operator, or its sender's failure function, discarded it.
  bool discarded = false;
  bool acked = false;
  /// When its author last learned that, in true time.
  std::optional<std::chrono::nanoseconds> ackedAt;
  /// When its author last got the answer that it was accepted, in true time, if its author's file still knows that.
  std::optional<std::chrono::nanoseconds> answeredAt;
  /// It was reported as a dead letter, which a restored file forgets.
  bool toldFailed = false;
  /// When the enqueue returned, in true time.
  std::chrono::nanoseconds confirmedAt{0};
  /// Its author's file went back to before its enqueue: no store knows the message any more.
  bool lostWithFile = false;
  /// Its effect was lost with its receiver's file.
  bool undone = false;
  /// Its author also does not send it again: by policy, or because the peer is held for knowing another file.
  bool mayStayUndone = false;
  /// Its author's file still has it, and it has a reason to wait.
  bool isKept = false;
};

/// The name of a message: repetitions under one idempotency key have the ids `name.1`, `name.2`, …
[[nodiscard]] inline std::string nameOf(std::string_view messageId) {
  return std::string(messageId.substr(0, messageId.find('.')));
}

/// All messages that the agents were asked to enqueue, and the reports on them.
struct Ledger {
  /// By name, see `nameOf`.
  std::map<std::string, Entry> entries;
  std::uint64_t calls = 0;
  /// Files were put back or lost.
  bool hasAccidents = false;
  /// Broken promises, as sentences.
  std::vector<std::string> violations;

  /// Null for messages that no agent enqueued: ACK events.
  [[nodiscard]] Entry* find(std::string_view messageId) {
    const auto found = entries.find(nameOf(messageId));
    return found == entries.end() ? nullptr : &found->second;
  }
  /// Its enqueue returned.
  void confirm(const std::string& name, std::uint64_t sequence, std::chrono::nanoseconds now) {
    Entry& said = entries[name];
    said.confirmed = true;
    said.confirmedAt = now;
    said.sequence = std::max(said.sequence, sequence);
    said.storedAs = said.storedAs == 0 ? sequence : said.storedAs;
  }
  void violated(const std::string& promise, const std::string& what) { violations.push_back(promise + ": " + what); }
};

}  // namespace ackbox::simulation
