#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ackbox/clock.hpp"

namespace ackbox {

/// A frame as it came from a peer, verified and decoded.
struct InboundFrame {
  std::string id = {};
  /// The sender's agent URI.
  std::string source = {};
  std::string type = {};
  /// JSON text, byte for byte as sent.
  std::string data = {};
  /// When the sender enqueued it, by the sender's clock; absent if it did not say.
  std::optional<WallTime> time = {};
  std::optional<WallTime> expiresAt = {};
  /// The receiver that the sender means; empty: it did not say.
  std::string audience = {};
  /// Empty with a sequence of 0: a frame outside any session, from an ackbox sender with an empty `Frame::session`, or
  /// from other CloudEvents software. With a name and a sequence of 0: a session in AGENIUM's form
  /// (`InboundServerOptions::compatibilityPath`). Its frames are taken in the order in which they come.
  std::string session = {};
  std::string origin = {};
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  std::uint64_t previousSequence = 0;
  /// Where the frame began, as a W3C `traceparent`, the parent of what the handler does: its own attribute; where it
  /// has none, the request's header.
  std::string traceparent = {};
  std::string correlationId = {};
  /// The hop that brought it: the request's `traceparent` header, for a link; empty: there was none, or none that W3C
  /// allows, or the frame was deferred and the hop is over. Not covered by the signature.
  std::string hopTraceparent = {};
  /// The media type of data that is no JSON, as an event in CloudEvents' binary mode may carry; `data` is then the
  /// bytes in base64, as a JSON string. Empty: the data is JSON.
  std::string dataContentType = {};
};

}  // namespace ackbox
