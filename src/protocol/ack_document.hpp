#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/sender.hpp"

namespace ackbox::protocol {

/// The parts of an ACK document that a sender uses.
struct AckDocument {
  std::vector<FrameResult> results;
  std::uint32_t creditFrames = 0;
  std::uint64_t creditBytes = 0;
  /// See `SendReport`.
  std::string store;
  std::uint64_t storeEpoch = 0;
  std::vector<SessionReport> sessions;
};

/// The peer's result for one frame, and the frame's id.
struct NamedResult {
  std::string id;
  /// The message's number that the result is for, as a redrive gives it a new one; 0: not stated.
  std::uint64_t sequence = 0;
  FrameResult result;
  /// The time of the enqueue that the result is for, outside sessions; nothing: not stated.
  std::optional<WallTime> time = {};
};

/// Reads `body` as the answer to `request`: of this version, for `delivery`, with exactly one well-formed result per
/// frame, by id and in order. Nothing if any of this does not hold. Unknown members are ignored.
[[nodiscard]] std::optional<AckDocument> readAckDocument(std::string_view body, const SendRequest& request,
                                                         std::string_view delivery);

}  // namespace ackbox::protocol
