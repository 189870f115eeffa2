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

/// Long, because calendars step by days, and a world's promises are about things that do not end.
inline constexpr std::chrono::milliseconds kYear = std::chrono::hours(24 * 365);

/// Of each message: what its author wishes.
struct Wishes {
  double unordered = 0;
  double superseding = 0;
  double delayed = 0;
  double expiring = 0;
  /// Said again and again under one idempotency key until the enqueue returned, and then once more.
  double repeated = 0;
  bool priorities = false;
  /// Whether enqueues wait for room.
  bool waiting = false;
  /// By a call that returns when the message is stored.
  double blocking = 0;
};

/// How messages are said: each alone, with pauses between, so that its commits are its own; many at once, so that they
/// share them; or now so and now so.
enum class Pace : std::uint8_t { lone, crowd, changing };

/// Of each call of a handler.
struct Handling {
  double notNow = 0;
  double thrown = 0;
  double rejected = 0;
  double suicide = 0;
  double replies = 0;
  /// Says something apart from its transaction, which another one stores.
  double asides = 0;
  double deferred = 0;
  /// Of each run of a deferred handler: ends without an answer; goes on thinking; does not heed its deadline.
  double forgotten = 0;
  double thinksOn = 0;
  std::chrono::milliseconds thinkMax{0};
  std::chrono::milliseconds thinkTimeout{0};
  std::uint32_t concurrency = 4;
  /// Frames of the pool's type are deferred without a question.
  bool poolAlways = false;
  /// Frames that may wait in an inbox.
  std::uint64_t inboxFrames = 0;
};

/// Of the applications that some agents give frames to, over streams and by posting them.
struct Applications {
  /// How many agents do, from the first on. 0: no agent.
  std::uint32_t agents = 0;
  /// Applications with a stream, of each process.
  std::uint32_t streams = 1;
  /// Of the streams' pool.
  std::uint32_t places = 1;
  /// In true time: no application is there from the one to the other.
  std::chrono::nanoseconds awayFrom{0};
  std::chrono::nanoseconds awayUntil{0};
  /// How long a stream stays, how long its application pauses then, and how long it works on a frame.
  std::chrono::milliseconds lifeMax{0};
  std::chrono::milliseconds pauseMax{0};
  std::chrono::milliseconds holdMax{0};
  /// Of each frame: never settled; not worked on and given back; to be tried again; rejected.
  double silent = 0;
  double released = 0;
  double retried = 0;
  double rejected = 0;
  /// Of each frame of a stream: its application does not read for a while.
  double unread = 0;
  /// Of each push: refused by a wrong route.
  double refused = 0;

  [[nodiscard]] bool isThere(std::chrono::nanoseconds now) const { return now < awayFrom || now >= awayUntil; }
};

/// What one seed's world is made of: each run draws which faults it has at all and how strong they are, because a world
/// with every fault at once hides what only a few together show.
struct Swarm {
  std::uint32_t agents = 2;
  std::uint32_t sessions = 1;
  /// A second process on the first agent's file.
  bool shared = false;
  /// The last agent delivers by `claim` and `settle` instead of a run.
  bool pulls = false;
  Pace pace = Pace::crowd;
  /// Of each life of a process: its run is the manager's own, by `start`.
  double started = 0;
  /// Of each failure that an outbox's failure function is asked of: decided by it. 0: there is none.
  double decided = 0;
  testing::NetworkFaults network;
  /// Mean true time between two of each; 0: none.
  std::chrono::milliseconds kills{0};
  std::chrono::milliseconds partitions{0};
  std::chrono::milliseconds clockFaults{0};
  std::chrono::milliseconds operators{0};
  /// Of a disk that fails for a while under a process that goes on.
  std::chrono::milliseconds diskFaults{0};
  /// Of an agent's file: copied, put back to the copy, lost.
  std::chrono::milliseconds fileAccidents{0};
  /// Of a reader that begins or ends a snapshot of a file.
  std::chrono::milliseconds readers{0};
  Wishes wishes;
  Handling handling;
  Applications applications;
  /// Of the outboxes.
  OutboxOptions outbox;
  RateLimit rateLimit;

  [[nodiscard]] std::string describe() const;
};

/// `accidents`: with file accidents.
[[nodiscard]] Swarm drawSwarm(Random& random, bool accidents);
/// For a world of so many agents. From a generator of their own, so that worlds without applications stay as they are.
[[nodiscard]] Applications drawApplications(Random& random, std::uint32_t agents);

/// Uniform in [0, 1).
[[nodiscard]] double drawUnit(Random& random);
[[nodiscard]] bool drawChance(Random& random, double probability);
/// Uniform in [0, count).
[[nodiscard]] std::uint64_t drawBelow(Random& random, std::uint64_t count);

}  // namespace ackbox::simulation
