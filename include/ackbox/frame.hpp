#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "ackbox/clock.hpp"

namespace ackbox {

/// What an agent says: the part of a frame that its author writes. The rest (id, session sequence, origin) is
/// assigned by the enqueue.
struct Frame {
  /// The peer that it is for, by the name given in `PeerOptions::name`.
  std::string peer = "default";
  /// The ordered lane that it belongs to: frames of one (peer, session) arrive in the order of their enqueues.
  /// Up to 256 bytes of UTF-8 without control characters.
  std::string session = "default";
  /// CloudEvents `type`, such as `com.example.order.placed`. 1 to 256 bytes.
  std::string type = {};
  /// The payload: JSON text, sent byte for byte as given here. An empty string stands for `null`.
  std::string data = {};
  /// The message's id, 1 to 128 printable ASCII characters; empty: a fresh UUIDv7. A second enqueue with the same id
  /// stores nothing and answers `EnqueueStatus::duplicate`.
  std::string id = {};
  /// Not delivered after this instant: a message that is still pending then fails with reason `expired`.
  std::optional<WallTime> expiresAt = {};
  /// W3C trace context of the work that caused this frame; sent along, never interpreted.
  std::string traceparent = {};
  /// The id of the frame that this one answers, if any.
  std::string correlationId = {};
};

}  // namespace ackbox
