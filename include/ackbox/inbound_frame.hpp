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
  /// When the sender enqueued it, by the sender's clock; empty if the sender did not say.
  std::optional<WallTime> time = {};
  /// The handler does not get the frame at or after this instant by the receiver's clock; it may have got it before.
  std::optional<WallTime> expiresAt = {};
  /// The agent URI of the intended receiver; empty if the sender did not name it.
  std::string audience = {};
  /// The agent whose mailbox here the frame is in, which is its `audience` (`DeferredOptions::mailboxes`); empty: the
  /// frame is for this agent.
  std::string mailbox = {};
  /// Empty with a sequence of 0: a frame outside any session, from an ackbox sender with an empty `Frame::session` or
  /// from other CloudEvents software. A name with a sequence of 0: a session in AGENIUM's form
  /// (`InboundServerOptions::compatibilityPath`); its frames are accepted in the order of their arrival.
  std::string session = {};
  std::string origin = {};
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  std::uint64_t previousSequence = 0;
  /// The W3C `traceparent` of the frame's origin, the parent of the handler's work: the frame's own attribute, or the
  /// request's header if the frame has none.
  std::string traceparent = {};
  std::string correlationId = {};
  /// An operator of the sender sends a message again, whose id this is: the frame's own one, or that of the message of
  /// which this is a copy, to this receiver or to another. It may have taken effect here before. Empty: the frame is
  /// sent for the first time, or again because its sender does not know what became of it.
  std::string resentOf = {};
  /// The `traceparent` header of the request that brought the frame, for a link. Empty if the header is missing or not
  /// valid by W3C's rules, or if the frame was deferred and that request is over. Not covered by the signature.
  std::string hopTraceparent = {};
  /// The media type of data that is not JSON, as an event in CloudEvents' binary mode may carry; `data` is then the
  /// bytes in base64, as a JSON string. Empty: the data is JSON.
  std::string dataContentType = {};
};

}  // namespace ackbox
