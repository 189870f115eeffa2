#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "delivery/key_queue.hpp"
#include "delivery/types.hpp"

namespace ackbox::delivery {

struct Peer;

/// The state of a session, which has at most one request under way.
enum class Phase : std::uint8_t {
  /// Nothing to send.
  idle,
  /// In its peer's queue.
  ready,
  /// Claimed or being claimed; its frames are in a request.
  inFlight,
  /// Its head waits for its next attempt.
  backoff,
  /// Another process has it in flight; claimed again soon.
  foreign,
  /// Paused, or blocked by a dead letter, according to the store's last answer.
  halted,
};

/// The maximum number of doublings of the wait for a deferred message's ACK.
inline constexpr std::uint8_t kReaskDoublingsMax = 3;

/// A message that the peer stored and will acknowledge later.
struct Deferred {
  SteadyTime deadline;
  std::uint64_t sequence = 0;
  std::uint32_t retryCount = 0;
};

/// An unordered message's wait.
struct Delay {
  SteadyTime wakeAt;
  /// The end of the whole delay; `wakeAt` may be an earlier check of the clock.
  SteadyTime until;
};

/// One of three: an ordered session to one peer; the queue of a peer's unordered messages of one priority
/// (`unordered`); or a unit, one such message on its own (`unorderedQueue` is its queue).
struct Session {
  SessionKey key = 0;
  Peer* peer = nullptr;
  DeliveryPolicy policy;
  /// The messages that wait; those in flight are in the request instead.
  KeyQueue queue;
  std::map<MessageKey, Deferred> deferred;
  /// How often the peer was asked again for a deferred message, up to `kReaskDoublingsMax`; lengthens the next wait.
  std::map<MessageKey, std::uint8_t> reasks;
  Phase phase = Phase::idle;
  /// See `Frame::priority`.
  std::uint8_t priority = kPriorityDefault;
  /// The priority with which it was queued at its peer.
  std::uint8_t queuedAt = kPriorityDefault;
  /// It is a queue of unordered messages: never in flight itself.
  bool unordered = false;
  /// For a unit: the unordered queue that it comes from.
  Session* unorderedQueue = nullptr;
  /// For an unordered queue: its messages that wait for an instant.
  std::map<MessageKey, Delay> delayed;
  /// The head that must not be sent yet according to the store, and until when; 0: none.
  MessageKey delayedKey = 0;
  SteadyTime delayedUntil{};
  /// For `backoff` and `foreign`.
  SteadyTime wakeAt{};
  /// For `inFlight`.
  RequestId request = 0;
  /// The highest key ever seen: a higher key is new without a search.
  MessageKey highestKey = 0;
  /// The most frames in a request with this session's, after such a request was rejected as a whole; 0: no limit.
  std::uint32_t frameLimit = 0;
  /// The newest request at the last refusal of a multi-frame request with frames of this session; 0: none since the
  /// last answer.
  RequestId refusedAt = 0;
  /// The last frame of this session in that request; later frames were not in it.
  MessageKey refusedUpTo = 0;
  /// The peer did not know the predecessor and was offered 0, or the number that it reports. A second refusal is
  /// charged to the message, unless the peer reports that it has lost more.
  bool sequenceReset = false;
  /// The peer reports this frame as accepted, but has not shown that it belongs to this file: the next claim finds out.
  std::optional<AcceptedFrame> doubt = {};
  /// `Peer::restores` at the peer's last report on this session.
  std::uint32_t restoresSeen = 0;

  [[nodiscard]] bool waits() const noexcept { return phase == Phase::backoff || phase == Phase::foreign; }
};

}  // namespace ackbox::delivery
