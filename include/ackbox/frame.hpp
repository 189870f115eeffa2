#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ackbox/clock.hpp"

namespace ackbox {

/// Bounds of `Frame::priority`, as in JMS.
inline constexpr std::uint8_t kPriorityMax = 9;
inline constexpr std::uint8_t kPriorityDefault = 4;

/// The part of a frame that its author writes. The enqueue assigns the rest (id, session sequence, origin).
struct Frame {
  /// The peer that it is for, by the name given in `PeerOptions::name`.
  std::string peer = "default";
  /// The session that it belongs to: frames of one (peer, session) arrive in the order of their enqueues. Up to 256
  /// bytes of UTF-8 without control characters. Empty: the frame is unordered. It is sent independently of all others,
  /// nothing waits for it, it has no sequence, and the receiver deduplicates it by its id.
  std::string session = "default";
  /// CloudEvents `type`, such as `com.example.order.placed`. 1 to 256 bytes.
  std::string type = {};
  /// The payload: JSON text, sent byte for byte as given here. An empty string stands for `null`.
  std::string data = {};
  /// The message's id, 1 to 128 printable ASCII characters; empty: a fresh UUIDv7. A second enqueue with the same id
  /// stores nothing and answers `EnqueueStatus::duplicate`.
  std::string id = {};
  /// Not delivered after this instant: a message that is still pending then fails with reason `expired`. Where the peer
  /// has deferred it, the peer judges, by its own clock: a frame that its handler has not got by then fails there with
  /// the same reason, and one that it has got may still take effect.
  std::optional<WallTime> expiresAt = {};
  /// Not sent before this instant, which must be before `expiresAt`. Later frames of its session wait behind it. Judged
  /// by the calendar. If the calendar was set back to before the enqueue itself, it is not trusted, and the whole
  /// length of the delay is waited instead.
  std::optional<WallTime> notBefore = {};
  /// Which of a peer's sessions goes first if several could: 0 (last) to 9 (first), default 4. The session's latest
  /// enqueue sets the priority of the whole session, and never changes the session's order. While higher priorities
  /// keep a peer busy, each lower priority still gets about one turn in seventeen.
  std::uint8_t priority = kPriorityDefault;
  /// Makes the enqueue happen once: a second one with this key stores nothing and answers `EnqueueStatus::duplicate`
  /// with the first message's id and sequence, while that message is in the store and for
  /// `OutboxOptions::idempotencyRetention` after its enqueue. Up to 256 bytes of UTF-8 without control characters,
  /// common to all sessions to the peer; for another peer, and for a publish, the same text is another key. Empty: no
  /// such guard.
  std::string idempotencyKey = {};
  /// Only the latest matters: pending messages of the same session with this key are deleted, and this one goes to the
  /// session's tail. A message in flight stays. Needs a session: without order, an older frame could arrive after a
  /// newer one. Up to 256 bytes of UTF-8 without control characters. Empty: replaces nothing.
  std::string supersedeKey = {};
  /// W3C trace context of the work that caused this frame; sent along, never interpreted.
  std::string traceparent = {};
  /// The id of the frame that this one answers, if any.
  std::string correlationId = {};
  /// The id of the message that this one sends again, as the receiver sees it in `InboundFrame::resentOf`. Set by
  /// `OutboxOperator`; an application sets it in repetitions of its own. Up to 128 visible ASCII characters. Empty: it
  /// repeats none.
  std::string resentOf = {};
};

}  // namespace ackbox
