#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "ackbox/options.hpp"
#include "ackbox/testing/network.hpp"

namespace ackbox {
class Random;
}

namespace ackbox::simulation {

/// Long, because calendars step by days, and a world's promises are about messages that do not expire.
inline constexpr std::chrono::milliseconds kYear = std::chrono::hours(24 * 365);

/// Probabilities of the wishes of each message's author.
struct Wishes {
  double unordered = 0;
  double superseding = 0;
  double delayed = 0;
  double expiring = 0;
  /// Enqueued repeatedly under one idempotency key until the enqueue returned, and then once more.
  double repeated = 0;
  bool priorities = false;
  /// Whether enqueues wait for room.
  bool waiting = false;
  /// Enqueued by a call that returns when the message is stored.
  double blocking = 0;
};

/// How messages are enqueued: each alone, with pauses between, so that each has its own commits; many at once, so that
/// they share commits; or both in turn.
enum class Pace : std::uint8_t { lone, crowd, changing };

/// Probabilities for each call of a handler.
struct Handling {
  double notNow = 0;
  double thrown = 0;
  double rejected = 0;
  double suicide = 0;
  double replies = 0;
  /// Enqueues a message apart from its transaction, so that another transaction stores it.
  double asides = 0;
  double deferred = 0;
  /// For each run of a deferred handler: it ends without an answer; it works on after its time, ignoring its deadline.
  double forgotten = 0;
  double thinksOn = 0;
  std::chrono::milliseconds thinkMax{0};
  std::chrono::milliseconds thinkTimeout{0};
  std::uint32_t concurrency = 4;
  /// Frames of the pool's type are deferred without a call of the handler.
  bool poolAlways = false;
  /// The number of frames that may wait in an inbox.
  std::uint64_t inboxFrames = 0;
};

/// The applications to which some agents give frames, over streams and by posting them.
struct Applications {
  /// The number of agents with applications, from the first on. 0: no agent has any.
  std::uint32_t agents = 0;
  /// The number of applications with a stream, for each process.
  std::uint32_t streams = 1;
  /// The number of places in the streams' pool.
  std::uint32_t places = 1;
  /// In true time: no application is there between the two instants.
  std::chrono::nanoseconds awayFrom{0};
  std::chrono::nanoseconds awayUntil{0};
  /// How long a stream stays, how long its application then pauses, and how long it works on a frame.
  std::chrono::milliseconds lifeMax{0};
  std::chrono::milliseconds pauseMax{0};
  std::chrono::milliseconds holdMax{0};
  /// For each frame: never settled; given back without work; to be tried again; rejected.
  double silent = 0;
  double released = 0;
  double retried = 0;
  double rejected = 0;
  /// For each frame of a stream: its application does not read for a while.
  double unread = 0;
  /// For each push: refused by a wrong route.
  double refused = 0;

  [[nodiscard]] bool isThere(std::chrono::nanoseconds now) const { return now < awayFrom || now >= awayUntil; }
};

/// The mailboxes that the first agent keeps.
struct Mailboxes {
  /// The agents that take their frames from streams, beside one that fetches them. 0: there are no mailboxes.
  std::uint32_t takers = 0;
  /// The frames that may wait in one mailbox; those of all that are worked on at once, and more for each stream.
  std::uint64_t framesMax = 0;
  std::uint32_t places = 1;
  std::uint32_t ownPlaces = 0;
  /// In true time: every second agent is away between the two instants.
  std::chrono::nanoseconds asleepFrom{0};
  std::chrono::nanoseconds asleepUntil{0};
  /// The window of the fetcher.
  std::uint32_t window = 64;
  /// How long the fetcher's stream lasts, and how long each of its ends does not see that it is lost.
  std::chrono::milliseconds lineLifeMax{0};
  std::chrono::milliseconds unseenMax{0};
  /// For each request of the fetcher, and each answer to it: it is lost.
  double reportLost = 0;
};

/// The parameters of one seed's world: each run draws which faults occur and how strong they are, because a world with
/// every fault at once hides failures that only a few faults together cause.
struct Swarm {
  std::uint32_t agents = 2;
  std::uint32_t sessions = 1;
  /// A second process on the first agent's file.
  bool shared = false;
  /// The last agent delivers by `claim` and `settle` instead of a run.
  bool pulls = false;
  Pace pace = Pace::crowd;
  /// For each life of a process: its run is the manager's own, by `start`.
  double started = 0;
  /// For each call of an outbox's failure function: it decides itself. 0: there is no such function.
  double decided = 0;
  testing::NetworkFaults network;
  /// Mean true time between two events of each kind; 0: no such event.
  std::chrono::milliseconds kills{0};
  std::chrono::milliseconds partitions{0};
  std::chrono::milliseconds clockFaults{0};
  std::chrono::milliseconds operators{0};
  /// For a disk that fails for a while, while its process goes on.
  std::chrono::milliseconds diskFaults{0};
  /// For an agent's file: it is copied, restored from the copy, or lost.
  std::chrono::milliseconds fileAccidents{0};
  /// For a reader that begins or ends a snapshot of a file.
  std::chrono::milliseconds readers{0};
  Wishes wishes;
  Handling handling;
  Applications applications;
  Mailboxes mailboxes;
  /// The options of the outboxes.
  OutboxOptions outbox;
  RateLimit rateLimit;
  /// The last agent is in no configuration: the others have it as a peer that was added to their files.
  bool addsPeers = false;
  /// Frames are published to subscribers that change.
  bool publishes = false;

  [[nodiscard]] std::string describe() const;
};

/// `accidents`: with file accidents.
[[nodiscard]] Swarm drawSwarm(Random& random, bool accidents);
/// For a world of `agents` agents. Drawn from a separate generator, so that worlds without applications do not change.
[[nodiscard]] Applications drawApplications(Random& random, std::uint32_t agents);
/// The same for mailboxes.
[[nodiscard]] Mailboxes drawMailboxes(Random& random);

/// Uniform in [0, 1).
[[nodiscard]] double drawUnit(Random& random);
[[nodiscard]] bool drawChance(Random& random, double probability);
/// Uniform in [0, count).
[[nodiscard]] std::uint64_t drawBelow(Random& random, std::uint64_t count);

}  // namespace ackbox::simulation
