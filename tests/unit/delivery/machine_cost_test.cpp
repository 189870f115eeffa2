// Goal: P9: an event costs what it causes, whatever waits; a pending row costs about eight bytes.
// Method: counts allocations and time over large states; the time bounds are generous, a scan would break them tenfold.

#include <doctest/doctest.h>

#include <malloc.h>

#include "delivery/timers.hpp"
#include "unit/delivery/stage.hpp"

namespace ackbox::delivery {
namespace {

MachineOptions slowRetries() {
  MachineOptions options;
  options.retry.delays = {1h};
  options.retry.jitter = false;
  return options;
}

TEST_CASE("P9: a tick with 10,000 sessions in backoff touches none of them") {
  Stage stage(slowRetries());
  stage.machine->peerAdded(kPeer, 1);
  for (SessionKey session = 1; session <= 10'000; ++session) {
    stage.store(session);
  }
  stage.showRows();
  while (!stage.sends.empty()) {
    stage.answer(std::vector<FrameResult>(stage.sends.front().items.size(), Stage::result(Outcome::nack)));
  }
  REQUIRE((stage.machine->nextWake() == stage.now.steady + 1h));
  constexpr int kTicks = 100'000;
  const auto start = std::chrono::steady_clock::now();
  for (int count = 0; count < kTicks; ++count) {
    stage.tick();
  }
  const auto each = (std::chrono::steady_clock::now() - start) / kTicks;
  MESSAGE("a tick costs ", std::chrono::nanoseconds(each).count(), " ns");
  // A scan of 10,000 sessions would take more than this even unsanitized.
  CHECK(each < 10us);
}

TEST_CASE("P9: timers that nobody waits for any more take no memory for long, and the others keep their order") {
  Timers timers([](const Timers::Timer& timer) { return timer.key % 100 == 0; });
  constexpr MessageKey kTimers = 1'000;
  for (MessageKey key = kTimers; key > 0; --key) {
    timers.add({.due = SteadyTime(key * 1s), .owner = 1, .key = key, .kind = Timers::Kind::row});
  }
  for (MessageKey key = 1; key <= kTimers; ++key) {
    if (key % 100 != 0) {
      timers.abandoned();
    }
  }
  CHECK(timers.size() <= kTimers / 2);
  std::vector<MessageKey> fired;
  while (const auto timer = timers.takeDue(SteadyTime(1h))) {
    fired.push_back(timer->key);
  }
  CHECK(fired == std::vector<MessageKey>{100, 200, 300, 400, 500, 600, 700, 800, 900, 1'000});
}

TEST_CASE("P9: deferred messages that are acknowledged from outside leave nothing behind") {
  Stage stage;
  stage.machine->peerAdded(kPeer, 1);
  const auto defer = [&stage] {
    const MessageKey key = stage.enqueue(1);
    stage.answer({Stage::result(Outcome::defer)});
    return key;
  };
  // Its deadline comes before all others, so that none of them surfaces.
  defer();
  // Small blocks and large ones.
  const auto used = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const auto before = used();
  for (int round = 0; round < 20'000; ++round) {
    stage.now.steady += 1ms;
    const MessageKey key = defer();
    stage.machine->forget(1, key);
    stage.rows.erase(key);
    stage.settled.clear();
    stage.releases.clear();
  }
  CHECK(used() < before + std::size_t{200} * 1024);
}

TEST_CASE("P9: delayed unordered messages that are cancelled leave nothing behind") {
  Stage stage;
  stage.machine->peerAdded(kPeer, 1);
  const auto delay = [&stage](std::chrono::milliseconds by) {
    const MessageKey key = stage.storeUnordered(kPeer, kPriorityDefault, stage.now.wall + by);
    stage.showRows();
    return key;
  };
  // Due before all others, so that none of them surfaces.
  delay(1min);
  const auto used = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const auto before = used();
  for (int round = 0; round < 20'000; ++round) {
    const MessageKey key = delay(30min);
    stage.machine->forget(stage.rows.at(key).session, key);
    stage.rows.erase(key);
  }
  CHECK(used() < before + std::size_t{200} * 1024);
}

TEST_CASE("P9: a million rows in 10,000 sessions fit in 32 MiB") {
  Stage stage;
  std::vector<SessionInfo> sessions;
  for (SessionKey session = 1; session <= 10'000; ++session) {
    sessions.push_back({.key = session, .peer = kPeer, .dueAt = {}});
  }
  std::vector<RowSeen> rows(1'000);
  Actions actions;
  const auto before = mallinfo2().uordblks;
  stage.machine->rowsSeen(sessions, {}, stage.now, actions);
  for (MessageKey key = 1; key <= 1'000'000;) {
    for (RowSeen& row : rows) {
      row = {.key = key, .session = 1 + key % 10'000, .state = MessageState::pending, .dueAt = {}};
      ++key;
    }
    stage.machine->rowsSeen({}, rows, stage.now, actions);
  }
  const auto used = mallinfo2().uordblks - before;
  MESSAGE("a million rows take ", used / 1024, " KiB");
  // Sanitizers keep their own books: there, `used` is 0.
  CHECK(used < 32U * 1024 * 1024);
}

}  // namespace
}  // namespace ackbox::delivery
