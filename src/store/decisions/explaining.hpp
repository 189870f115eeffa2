#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/message.hpp"
#include "ackbox/options.hpp"
#include "delivery/types.hpp"
#include "store/reader.hpp"

namespace ackbox::store {

/// What a store knows of a message, beside what is shown of it: of itself, its session and its peer. An owner is 0
/// where nobody has it in flight, an instant 0 where it stands for none.
struct MessageFacts {
  delivery::SessionKey session = 0;
  std::int64_t owner = 0;
  std::optional<WallTime> expiresAt;
  WallTime dueAt{};
  bool wasTried = false;
  std::optional<WallTime> notBefore;
  std::int64_t sessionOwner = 0;
  WallTime sessionDueAt{};
  WallTime sessionPausedAt{};
  WallTime blockedAt{};
  std::uint64_t blockedBySequence = 0;
  std::string blockedByReason;
  bool peerDown = false;
  WallTime downSince{};
  WallTime nextProbeAt{};
  std::string peerError;
  delivery::PeerHold peerHold{};
  WallTime peerPausedAt{};
  WallTime peerRemovedAt{};
  WallTime unattendedSince{};
  std::string unattendedType;
};

/// What is asked of the store where the facts need it.
struct FurtherFacts {
  /// The message of its session that goes first; nothing: it goes first itself.
  std::function<std::optional<Reason>()> ahead;
  /// A reason with the owner's process; `whenAlive`, or that the owner is dead.
  std::function<Reason(BlockReason whenAlive, std::int64_t owner)> ofOwner;
};

/// The reasons for which the message, with its attempts, is where it is, the first one first.
[[nodiscard]] std::vector<Reason> explain(const MessageInfo& message, const MessageFacts& facts,
                                          const OutboxOptions& options, const PeerLookup& peers,
                                          const FurtherFacts& further);

}  // namespace ackbox::store
