#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "delivery/transition.hpp"
#include "delivery/types.hpp"

namespace ackbox::store {

/// The state in which a transition leaves a message; ACKED also if it is gone.
[[nodiscard]] MessageState stateOf(delivery::Next next);

/// Whether a settlement may have this transition: the others need more than one row's state.
[[nodiscard]] bool isSettle(delivery::Transition transition);

/// A message found by its id, with the facts for its settlement.
struct LocatedMessage {
  delivery::Settlement settlement;
  std::string peer;
  std::string session;
  std::string agent;
  /// The peer's store, if known, and how often the peer was reset.
  std::string store;
  std::int64_t resets = 0;
  WallTime enqueuedAt{};
};

/// Whether the message is addressed to `agent`, or to an agent that fits one of the patterns.
[[nodiscard]] bool isTo(const LocatedMessage& found, std::string_view agent, std::span<const std::string> mailboxes);

/// Whether an ACK event is about an earlier enqueue of the message: the redriven message is on its way, or has its own
/// result.
[[nodiscard]] bool isOfEarlier(const LocatedMessage& found, std::uint64_t sequence, std::optional<WallTime> time);

/// Whether the result is from a lost store, or from before the peer's reset: the message is sent again, and is a
/// duplicate if the peer still knows it.
[[nodiscard]] bool isLate(const LocatedMessage& found, std::string_view origin);

}  // namespace ackbox::store
