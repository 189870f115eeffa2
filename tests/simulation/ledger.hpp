#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ackbox::simulation {

/// What the world knows of one message, apart from every store.
struct Entry {
  std::string from;
  std::string to;
  std::string session;
  /// The message that this one replies to, and whose effect said it; empty for what agents say of themselves.
  std::string answers;
  /// The enqueue returned: it must not be lost any more.
  bool confirmed = false;
  std::uint64_t sequence = 0;
  /// A handler refused it for good, so it may end as a dead letter.
  bool rejected = false;
  /// A handler said "not now" at least once.
  bool refusedForNow = false;
  /// How often an operator redrove it: each may repeat the effect.
  std::uint32_t redrives = 0;
  /// An operator threw it away.
  bool discarded = false;
  bool acked = false;
};

/// Everything that the agents were asked to say and that they were told of it.
struct Ledger {
  std::map<std::string, Entry> entries;
  /// Broken promises, as sentences.
  std::vector<std::string> violations;

  void violated(const std::string& promise, const std::string& what) { violations.push_back(promise + ": " + what); }
};

}  // namespace ackbox::simulation
