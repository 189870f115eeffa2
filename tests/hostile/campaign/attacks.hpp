#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hostile/campaign/arena.hpp"

namespace ackbox::campaign {

/// One way to do harm.
struct Attack {
  /// As the options call it.
  std::string_view name;
  /// What is thrown at the target.
  std::string_view input;
  /// What the target may take at most, of which `--check` makes sure.
  std::uint64_t memoryMiBMax;
  /// Whether there are honest peers beside it.
  bool hasHonestPeers;
  /// Whether a sanitizer's own use of the address space rules it out.
  bool needsAddressSpace;
  /// Runs it until the arena's deadline; says what it got.
  std::string (*run)(Arena&);
};

/// All of them.
[[nodiscard]] std::span<const Attack> attacks();

// By strangers, against the server: attacks_server.cpp.
[[nodiscard]] std::string sendOversizedFields(Arena& arena);
[[nodiscard]] std::string holdIdleConnections(Arena& arena);
[[nodiscard]] std::string uploadForgedSignatures(Arena& arena);
[[nodiscard]] std::string readSlowly(Arena& arena);
[[nodiscard]] std::string holdHalfBodies(Arena& arena);

// By a peer with a key, against the inbox: attacks_keyed.cpp.
[[nodiscard]] std::string inventSessions(Arena& arena);
[[nodiscard]] std::string fillDeferredInbox(Arena& arena);

// By those whom the target sends to: attacks_sender.cpp.
[[nodiscard]] std::string answerOversizedFields(Arena& arena);
[[nodiscard]] std::string pileUpLargeFrames(Arena& arena);
[[nodiscard]] std::string withholdMemory(Arena& arena);
[[nodiscard]] std::string loseConnections(Arena& arena);
[[nodiscard]] std::string keepManyPeersMute(Arena& arena);

// On the machine itself: attacks_local.cpp.
[[nodiscard]] std::string plantHostileSchema(Arena& arena);
[[nodiscard]] std::string startAndStop(Arena& arena);

}  // namespace ackbox::campaign
