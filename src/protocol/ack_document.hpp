#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/sender.hpp"

namespace ackbox::protocol {

/// What a sender takes from an ACK document.
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
  /// Which of the message's numbers it is about; 0: it does not say.
  std::uint64_t sequence = 0;
  FrameResult result;
  /// Which enqueue of a message outside sessions it is about; nothing: it does not say.
  std::optional<WallTime> time = {};
};

/// Reads `body` as the answer to `request`: of this version, for `delivery`, with exactly one well-formed result per
/// frame, by id and in order. Nothing when any of this does not hold. Members that it does not know are passed over.
[[nodiscard]] std::optional<AckDocument> readAckDocument(std::string_view body, const SendRequest& request,
                                                         std::string_view delivery);

}  // namespace ackbox::protocol
