// Goal: a peer's rate limit holds over any time, also where it is changed or taken away while messages wait for it
// (row 11).
// Method: conversations on the stage; the frames that go are counted against the stage's clock.

#include <doctest/doctest.h>

#include "unit/delivery/stage.hpp"

namespace ackbox::delivery::rate_limit_test {
namespace {

using Keys = std::vector<MessageKey>;

struct Limited : Stage {
  explicit Limited(const RateLimit& limit = {}) { change(limit); }
  void change(const RateLimit& limit) { machine->peerAdded(kPeer, 4, 256, limit); }
  /// Messages in sessions of their own.
  void enqueue(int count) {
    for (int made = 0; made < count; ++made) {
      store(++lastSession);
    }
    showRows();
  }
  /// Acknowledges all that goes now, and counts it in `sent`.
  void drain() {
    tick();
    while (!sends.empty()) {
      sent += sends.front().items.size();
      ackAll();
    }
  }
  [[nodiscard]] SteadyTime limitedUntil() const { return machine->peer(kPeer)->limitedUntil; }

  SessionKey lastSession = 0;
  std::size_t sent = 0;
};

TEST_CASE("row 11: a rate limit lets a burst go, then keeps to its pace") {
  RateLimit limit;
  limit.frames = 10;
  limit.burst = 20;
  Limited stage(limit);
  for (int made = 0; made < 100; ++made) {
    stage.store(made % 7 + 1);
  }
  stage.showRows();
  stage.drain();
  CHECK(stage.sent == 20);
  const SteadyTime start = stage.now.steady;
  while (stage.sent < 100) {
    REQUIRE(stage.advanceToWake());
    stage.drain();
    const auto allowed = 20 + (stage.now.steady - start) / 100ms;
    CHECK(static_cast<std::int64_t>(stage.sent) <= allowed);
  }
  CHECK(stage.now.steady - start <= 8'100ms);
  CHECK(stage.now.steady - start >= 7'900ms);
}

TEST_CASE("row 11: a rate limit counts what a claim may take, not how much it names where messages have gone") {
  RateLimit limit;
  limit.frames = 4;
  Limited stage(limit);
  for (int made = 0; made < 40; ++made) {
    stage.store(1);
  }
  for (MessageKey key = 1; key <= 20; ++key) {
    stage.rows.erase(key);
  }
  stage.showRows();
  stage.drain();
  CHECK(stage.sent == 4);
  CHECK(stage.limitedUntil() == stage.now.steady + 250ms);
  stage.advance(250ms);
  CHECK(stage.onlySend() == Keys{25});
}

TEST_CASE("row 11: a bucket is full at first, also on a machine that started less than its filling time ago") {
  RateLimit limit;
  limit.frames = 2;
  limit.per = 24h;
  Limited stage(limit);
  stage.now.steady = SteadyTime(1min);
  stage.enqueue(3);
  stage.drain();
  CHECK(stage.sent == 2);
  CHECK((stage.machine->nextWake() == SteadyTime(1min + 12h)));
}

TEST_CASE("row 11: a limit that is changed or taken away counts at once, also for messages that wait for the old one") {
  RateLimit limit;
  limit.frames = 1;
  limit.per = 24h;
  RateLimit faster;
  faster.frames = 10;
  for (const RateLimit& next : {RateLimit{}, faster}) {
    CAPTURE(next.frames);
    Limited stage(limit);
    stage.enqueue(5);
    stage.drain();
    CHECK(stage.sent == 1);
    CHECK((stage.limitedUntil() == stage.now.steady + 24h));
    const SteadyTime changed = stage.now.steady;
    stage.change(next);
    while (stage.sent < 5) {
      REQUIRE(stage.advanceToWake());
      REQUIRE(stage.now.steady - changed <= 500ms);
      stage.drain();
    }
    CHECK((stage.limitedUntil() == SteadyTime{}));
  }
}

TEST_CASE("row 11: a definition that is sent again, and a limit that goes and comes back, give no second burst") {
  RateLimit limit;
  limit.frames = 2;
  limit.per = 24h;
  Limited stage(limit);
  stage.enqueue(20);
  stage.drain();
  for (int change = 0; change < 5; ++change) {
    stage.change(limit);
    stage.drain();
    stage.change({});
    stage.change(limit);
    stage.drain();
  }
  CHECK(stage.sent == 2);
  CHECK((stage.limitedUntil() == stage.now.steady + 12h));
}

// The pause after it is no wait for a limit.
void failClaim(Limited& stage) {
  REQUIRE(stage.pendingClaims.size() == 1);
  const RequestId request = stage.pendingClaims.front().request;
  stage.pendingClaims.clear();
  stage.holdClaims = false;
  Actions actions;
  stage.machine->claimFailed(request, 50ms, stage.now, actions);
  stage.perform(std::move(actions));
  CHECK(stage.sends.empty());
  CHECK((stage.limitedUntil() == SteadyTime{}));
}

TEST_CASE("row 11: a limit that comes while a claim is in the store is full, whatever the claim gives back") {
  RateLimit limit;
  limit.frames = 5;
  Limited stage;
  stage.holdClaims = true;
  stage.enqueue(1);
  stage.change(limit);
  failClaim(stage);
  while (stage.sends.empty()) {
    REQUIRE(stage.advanceToWake());
  }
  CHECK(stage.onlySend() == Keys{1});
}

TEST_CASE("P13: a pause after a failure of the store is not told as a wait for a rate limit") {
  Limited stage;
  stage.holdClaims = true;
  stage.enqueue(1);
  failClaim(stage);
  while (stage.sends.empty()) {
    REQUIRE(stage.advanceToWake());
  }
  CHECK(stage.onlySend() == Keys{1});
}

TEST_CASE("row 11: frames that were claimed but did not go give their tokens back") {
  RateLimit limit;
  limit.frames = 5;
  Limited stage(limit);
  for (int made = 0; made < 5; ++made) {
    stage.store(1);
  }
  for (const MessageKey key : {1, 2, 3, 4}) {
    stage.rows.at(key).expiresAt = stage.now.wall;
  }
  stage.showRows();
  CHECK(stage.onlySend() == Keys{5});
  for (int made = 0; made < 4; ++made) {
    stage.store(2);
  }
  stage.showRows();
  CHECK(stage.sends.size() == 2);
  CHECK(stage.sends.back().items.size() == 4);
}

}  // namespace
}  // namespace ackbox::delivery::rate_limit_test
