#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "delivery/key_queue.hpp"
#include "delivery/types.hpp"

namespace ackbox::delivery {

struct Peer;

/// Where a session stands. At most one request of it is under way.
enum class Phase : std::uint8_t {
  /// Nothing to send.
  idle,
  /// In its peer's queue.
  ready,
  /// Claimed or being claimed; its frames are in a request.
  inFlight,
  /// Its head waits for its next attempt.
  backoff,
  /// Another process has it in flight; asked again soon.
  foreign,
  /// Paused, or blocked by a dead letter, as the store said when it was asked.
  halted,
};

/// A wait for the ACK of a deferred message is at most so many times doubled.
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
  /// When the whole of it is over; `wakeAt` may be an earlier look at the clock.
  SteadyTime until;
};

/// One of three: an ordered session to one peer; the queue of a peer's unordered messages of one priority
/// (`unordered`); one such message on its own (`unorderedQueue` is its queue).
struct Session {
  SessionKey key = 0;
  Peer* peer = nullptr;
  DeliveryPolicy policy;
  /// What waits; what is in flight is in the request instead.
  KeyQueue queue;
  std::map<MessageKey, Deferred> deferred;
  /// How often the peer was asked in vain what became of a deferred message, as far as that makes the next wait longer.
  std::map<MessageKey, std::uint8_t> reasks;
  Phase phase = Phase::idle;
  /// See `Frame::priority`.
  std::uint8_t priority = kPriorityDefault;
  /// Where in its peer's queue it stands.
  std::uint8_t queuedAt = kPriorityDefault;
  /// It is a queue of unordered messages: never in flight itself.
  bool unordered = false;
  /// For a single unordered message: where it comes from.
  Session* unorderedQueue = nullptr;
  /// For an unordered queue: those of its messages that wait for an instant.
  std::map<MessageKey, Delay> delayed;
  /// The head that the store said is not to be sent yet, and when that is over; 0: none.
  MessageKey delayedKey = 0;
  SteadyTime delayedUntil{};
  /// For `backoff` and `foreign`.
  SteadyTime wakeAt{};
  /// For `inFlight`.
  RequestId request = 0;
  /// The highest key ever seen: what lies above is new without a search.
  MessageKey highestKey = 0;
  /// Frames in a request with this session's, after such a request was rejected as a whole; 0: no such limit.
  std::uint32_t frameLimit = 0;
  /// The newest request when one of several frames, this session's among them, was refused; 0: none since it was
  /// answered last.
  RequestId refusedAt = 0;
  /// The last of this session's frames in that request: those that came later were not in it.
  MessageKey refusedUpTo = 0;
  /// The peer did not know our predecessor and was offered 0, or what it has; a second refusal is the message's own,
  /// unless it says that it has forgotten more.
  bool sequenceReset = false;
  /// The peer says that it has this, and has not shown that it is ours: the next claim finds out.
  std::optional<AcceptedFrame> doubt = {};
  /// `Peer::restores` when the peer last reported how far it has come here.
  std::uint32_t restoresSeen = 0;

  [[nodiscard]] bool waits() const noexcept { return phase == Phase::backoff || phase == Phase::foreign; }
};

}  // namespace ackbox::delivery
