#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox::reception {

/// Whether an inbound frame may take effect, according to its mark.
enum class Admission : std::uint8_t {
  take,
  /// It took effect before.
  duplicate,
  /// Its predecessor has not been accepted here.
  outOfSequence,
  /// Its sender's store was restored from an older copy: a newer epoch was seen.
  staleEpoch,
  /// The same cause: its number belongs to another frame.
  numberTaken,
  /// Its id was used before with other data.
  idConflict,
  /// Its sender's store was silent for long after another store had replaced it: its marks are gone.
  closedOrigin,
};

struct AdmissionReply {
  Admission admission = Admission::take;
  /// Highest accepted sequence of the session, and, unless the frame is taken, the id of that sequence's frame; empty:
  /// not known.
  std::uint64_t accepted = 0;
  std::string acceptedId = {};
  /// The frame is taken but its number leaves a gap: this many of the sender's messages are dead letters.
  std::uint64_t gap = 0;
};

/// The key of a row of the inbox.
using FrameKey = std::int64_t;
/// Numbers are never reused.
using SenderNumber = std::uint64_t;
using QueueNumber = std::uint64_t;

/// A frame in its queue.
struct QueuedFrame {
  QueueNumber queue = 0;
  FrameKey key = 0;
};

/// A frame that waits in the inbox. The texts are valid during the call.
struct Arrival {
  FrameKey key = 0;
  std::string_view sender;
  /// Frames of one queue have their turns one after the other, in the order of arrival.
  std::string_view queue;
  /// Empty for a frame outside any session.
  std::string_view session = {};
  /// The agent that is to fetch it; empty: the frame is for this agent.
  std::string_view mailbox = {};
  std::string_view type = {};
  WallTime acceptedAt = {};
  /// It must not be worked on from this instant on.
  WallTime expiresAt = WallTime::max();
};

/// How many frames wait in a mailbox.
struct MailboxFill {
  std::uint64_t all = 0;
  /// Of these, those of one sender.
  std::uint64_t ofSender = 0;
};

/// A pool of places.
struct PoolLimits {
  /// Patterns of the types of frames that are worked on in it.
  std::vector<std::string> types = {};
  /// The most frames that are worked on at once, not counting those in `ownPlaces`.
  std::size_t places = 1;
  /// Additional places of each wish, so that consumers that occupy all other places do not stop the rest.
  std::size_t ownPlaces = 0;
  /// Only frames that fit a wish have a turn. Otherwise all frames have one.
  bool isOnDemand = false;
  /// The pool, which is on demand, is for the frames of all mailboxes, whatever their types, and for no others.
  bool isForMailboxes = false;
};

/// Which frames of a pool a consumer takes.
struct Wish {
  std::uint64_t id = 0;
  std::string types = "*";
  std::string sessions = "*";
  /// The most frames that it has at once.
  std::size_t count = 0;
  /// In the pool of the mailboxes: whose frames it takes.
  std::string mailbox = {};
};

/// A frame that has its turn.
struct Turn {
  QueueNumber queue = 0;
  FrameKey key = 0;
  std::size_t pool = 0;
  /// The wish that it is taken for; 0: its pool is not on demand, or it is overdue.
  std::uint64_t wish = 0;
  /// It has expired, or has waited for too long: it is to be ended, and has no place and no consumer.
  bool isOverdue = false;
  /// Whether its place is one of `PoolLimits::ownPlaces`.
  bool isOwn = false;
};

}  // namespace ackbox::reception
