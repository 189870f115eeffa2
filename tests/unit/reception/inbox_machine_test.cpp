// Goal: a frame has its turn by sender, then by session, within its pool's places; what waits holds no place; in a pool
// on demand, only what a consumer wishes for is taken; age counts in every state. Method: one event at a time.

#include "reception/inbox_machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace ackbox::reception::inbox_machine_test {
namespace {

using std::chrono::seconds;
using Keys = std::vector<FrameKey>;

/// A machine whose frames are `sender/session` and a type.
struct Stage {
  explicit Stage(std::vector<PoolLimits> pools) : machine(std::move(pools)) {}

  FrameKey arrive(const std::string& sender, const std::string& session, const std::string& type = "t",
                  WallTime acceptedAt = {}, WallTime expiresAt = WallTime::max()) {
    machine.arrived({.key = ++last,
                     .sender = sender,
                     .queue = sender + "/" + session,
                     .session = session,
                     .type = type,
                     .acceptedAt = acceptedAt,
                     .expiresAt = expiresAt});
    return last;
  }
  std::vector<Turn> take(std::size_t limit = 100) { return machine.takeTurns(limit); }
  Keys takeKeys(std::size_t limit = 100) { return keysOf(take(limit)); }
  static Keys keysOf(const std::vector<Turn>& turns) {
    Keys keys;
    for (const Turn& turn : turns) {
      keys.push_back(turn.key);
    }
    return keys;
  }
  void end(const Turn& turn) {
    machine.placeFreed(turn);
    machine.headEnded(turn.queue);
  }

  InboxMachine machine;
  FrameKey last = 0;
};

SteadyTime at(int second) {
  return SteadyTime(seconds(second));
}

WallTime wallAt(int second) {
  return WallTime(seconds(second));
}

Stage onDemand(std::size_t places = 10) {
  return Stage({{.types = {"*"}, .places = places, .isOnDemand = true}});
}

}  // namespace

TEST_CASE("P4: frames of a session are taken one after the other, those of others meanwhile") {
  Stage stage({{.types = {"*"}, .places = 10}});
  const FrameKey first = stage.arrive("a", "s");
  const FrameKey second = stage.arrive("a", "s");
  const FrameKey other = stage.arrive("a", "u");
  const std::vector<Turn> turns = stage.take();
  CHECK(Stage::keysOf(turns) == Keys{first, other});
  CHECK(stage.take().empty());
  stage.end(turns[0]);
  CHECK(stage.takeKeys() == Keys{second});
  CHECK(stage.machine.frames() == 2);
}

TEST_CASE("P5: a frame that is shown once more, because the store shows all after a crash, keeps its one place") {
  Stage stage({{.types = {"*"}, .places = 10}});
  const FrameKey first = stage.arrive("a", "s");
  const FrameKey second = stage.arrive("a", "s");
  const std::vector<Turn> turns = stage.take();
  CHECK(Stage::keysOf(turns) == Keys{first});
  stage.last = 0;
  CHECK(stage.arrive("a", "s") == first);
  CHECK(stage.arrive("a", "s") == second);
  const FrameKey third = stage.arrive("a", "s");
  CHECK(stage.machine.frames() == 3);
  stage.end(turns[0]);
  const std::vector<Turn> next = stage.take();
  CHECK(Stage::keysOf(next) == Keys{second});
  stage.end(next[0]);
  CHECK(stage.takeKeys() == Keys{third});
}

TEST_CASE("P4: work that goes on after its frame's end keeps its place, and its session goes on") {
  Stage stage({{.types = {"*"}, .places = 1}});
  stage.arrive("a", "s");
  const FrameKey second = stage.arrive("a", "s");
  const Turn turn = stage.take().at(0);
  stage.machine.headEnded(turn.queue);
  CHECK(stage.take().empty());
  stage.machine.placeFreed(turn);
  CHECK(stage.takeKeys() == Keys{second});
}

TEST_CASE("P12: a sender with 40,000 waiting frames, and another sends one: it is taken within two turns of the pool") {
  constexpr std::size_t kPlaces = 4;
  Stage stage({{.types = {"*"}, .places = kPlaces}});
  for (int session = 0; session < 40'000; ++session) {
    stage.arrive("a", std::to_string(session));
  }
  const std::vector<Turn> running = stage.take();
  CHECK(running.size() == kPlaces);
  const FrameKey lone = stage.arrive("b", "s");
  stage.end(running[0]);
  stage.end(running[1]);
  const Keys next = stage.takeKeys();
  CHECK(next.size() == 2);
  CHECK((next[0] == lone || next[1] == lone));
}

TEST_CASE("P12: sessions of a sender take turns, whatever each of them has waiting") {
  Stage stage({{.types = {"*"}, .places = 1}});
  for (int frame = 0; frame < 3; ++frame) {
    stage.arrive("a", "long");
  }
  const FrameKey lone = stage.arrive("a", "short");
  stage.end(stage.take().at(0));
  CHECK(stage.takeKeys() == Keys{lone});
}

TEST_CASE("a pool has its own places, the first that has a type has its frames, and pools take turns") {
  Stage stage({{.types = {"x.*"}, .places = 2}, {.types = {"*"}, .places = 2}});
  Keys expensive;
  Keys others;
  for (int session = 0; session < 3; ++session) {
    expensive.push_back(stage.arrive("a", "x" + std::to_string(session), "x.y"));
    others.push_back(stage.arrive("a", "o" + std::to_string(session), "o"));
  }
  CHECK(stage.takeKeys(3) == Keys{expensive[0], others[0], expensive[1]});
  CHECK(stage.takeKeys() == Keys{others[1]});
  CHECK(stage.machine.placesTaken(0) == 2);
}

TEST_CASE("P12: what waits holds no place, and is ready at its instant, behind what is ready") {
  Stage stage({{.types = {"*"}, .places = 1}});
  const FrameKey first = stage.arrive("a", "s");
  const FrameKey second = stage.arrive("a", "u");
  const Turn turn = stage.take().at(0);
  stage.machine.placeFreed(turn);
  stage.machine.headWaits(turn.queue, at(10));
  CHECK(stage.machine.nextDue() == at(10));
  const Turn other = stage.take().at(0);
  CHECK(other.key == second);
  stage.machine.timePassed(at(9));
  stage.end(other);
  CHECK(stage.take().empty());
  stage.machine.timePassed(at(10));
  CHECK(stage.takeKeys() == Keys{first});
  CHECK(stage.machine.nextDue() == SteadyTime::max());
}

TEST_CASE("an operator ends all waits") {
  Stage stage({{.types = {"*"}, .places = 2}});
  const FrameKey first = stage.arrive("a", "s");
  const FrameKey second = stage.arrive("a", "u");
  for (const Turn& turn : stage.take()) {
    stage.machine.placeFreed(turn);
    stage.machine.headWaits(turn.queue, at(10));
  }
  stage.machine.endWaits();
  CHECK(stage.takeKeys() == Keys{first, second});
}

TEST_CASE("P12: a consumer that keeps all places leaves each other consumer those of its own") {
  Stage stage({{.types = {"*"}, .places = 3, .ownPlaces = 2, .isOnDemand = true}});
  stage.machine.want(0, {.id = 1, .types = "x", .count = 100});
  for (int session = 0; session < 10; ++session) {
    stage.arrive("a", std::to_string(session), "x");
  }
  std::vector<Turn> kept = stage.take();
  CHECK(kept.size() == 5);
  stage.machine.want(0, {.id = 2, .types = "y", .count = 100});
  for (int session = 0; session < 3; ++session) {
    stage.arrive("b", std::to_string(session), "y");
  }
  const std::vector<Turn> others = stage.take();
  REQUIRE(others.size() == 2);
  CHECK(stage.machine.placesTaken(0) == 3);
  stage.end(others[0]);
  CHECK(stage.take().size() == 1);
  // What a consumer that has gone had in its own places takes no other ones.
  stage.machine.unwant(0, 1);
  for (const Turn& turn : kept) {
    stage.end(turn);
  }
  CHECK(stage.machine.placesTaken(0) == 0);
  stage.machine.want(0, {.id = 3, .types = "x", .count = 100});
  CHECK(stage.take().size() == 5);
}

TEST_CASE("P12: in a pool on demand nothing is taken that no consumer wishes for, and it takes nothing's place") {
  Stage stage = onDemand(2);
  for (int session = 0; session < 5; ++session) {
    stage.arrive("a", std::to_string(session), "unwanted");
  }
  const FrameKey wanted = stage.arrive("a", "w", "wanted");
  CHECK(stage.take().empty());
  CHECK(stage.machine.hasUnwanted(0));
  CHECK(stage.machine.unwantedTypes(0, 10) == std::vector<std::string>{"unwanted", "wanted"});
  CHECK(stage.machine.unwantedTypes(0, 1).size() == 1);
  stage.machine.want(0, {.id = 7, .types = "wanted", .count = 2});
  const std::vector<Turn> turns = stage.take();
  CHECK(Stage::keysOf(turns) == Keys{wanted});
  CHECK(stage.machine.unwantedTypes(0, 10) == std::vector<std::string>{"unwanted"});
  stage.machine.want(0, {.id = 9, .types = "unwanted", .sessions = "none", .count = 0});
  CHECK(stage.machine.hasUnwanted(0));
  stage.machine.want(0, {.id = 9, .types = "unwanted", .count = 0});
  CHECK_FALSE(stage.machine.hasUnwanted(0));
  stage.machine.unwant(0, 9);
  CHECK(turns.at(0).wish == 7);
  stage.machine.want(0, {.id = 8, .types = "*", .sessions = "3", .count = 2});
  CHECK(stage.takeKeys() == Keys{4});
}

TEST_CASE("P13: a type is unwanted as long as a frame of it waits for a consumer, in whichever queue") {
  using Types = std::vector<std::string>;
  Stage stage = onDemand();
  for (int session = 0; session < 100; ++session) {
    stage.arrive("a", std::to_string(session), "x");
  }
  stage.arrive("a", "old", "y", wallAt(1));
  CHECK(stage.machine.unwantedTypes(0, 10) == Types{"x", "y"});
  const auto isOld = [](WallTime acceptedAt) { return acceptedAt == wallAt(1); };
  const std::vector<Turn> overdue = stage.machine.takeOverdue(isOld, {}, 10);
  REQUIRE(overdue.size() == 1);
  CHECK(stage.machine.unwantedTypes(0, 10) == Types{"x"});
  stage.machine.want(0, {.id = 1, .types = "x", .count = 1});
  CHECK(stage.machine.unwantedTypes(0, 10).empty());
  stage.machine.headReady(overdue[0].queue);
  CHECK(stage.machine.unwantedTypes(0, 10) == Types{"y"});
  stage.machine.unwant(0, 1);
  CHECK(stage.machine.unwantedTypes(0, 10) == Types{"x", "y"});
  CHECK(stage.machine.unwantedTypes(0, 0).empty());
}

TEST_CASE("P12: a consumer has no more than it wishes for, and a full one keeps nothing from another") {
  Stage stage = onDemand();
  stage.machine.want(0, {.id = 1, .types = "x", .count = 2});
  stage.machine.want(0, {.id = 2, .types = "y", .count = 1});
  for (int session = 0; session < 5; ++session) {
    stage.arrive("a", std::to_string(session), "x");
  }
  const FrameKey other = stage.arrive("a", "y", "y");
  std::vector<Turn> turns = stage.take();
  CHECK(turns.size() == 3);
  CHECK(Stage::keysOf(turns) == Keys{1, other, 2});
  stage.end(turns[0]);
  CHECK(stage.takeKeys() == Keys{3});
}

TEST_CASE("consumers of the same frames share them, and one that has gone gets none") {
  Stage stage = onDemand();
  stage.machine.want(0, {.id = 1, .count = 3});
  stage.machine.want(0, {.id = 2, .count = 3});
  for (int session = 0; session < 8; ++session) {
    stage.arrive("a", std::to_string(session));
  }
  std::vector<int> had(3);
  for (const Turn& turn : stage.take(4)) {
    ++had[turn.wish];
  }
  CHECK(had == std::vector<int>{0, 2, 2});
  stage.machine.unwant(0, 1);
  for (const Turn& turn : stage.take()) {
    CHECK(turn.wish == 2);
  }
  CHECK(stage.machine.placesTaken(0) == 5);
}

TEST_CASE("a wish whose number changes keeps what it has, and none is taken beyond a lower one") {
  Stage stage = onDemand();
  for (int session = 0; session < 4; ++session) {
    stage.arrive("a", std::to_string(session));
  }
  stage.machine.want(0, {.id = 1, .count = 2});
  const std::vector<Turn> turns = stage.take();
  CHECK(turns.size() == 2);
  stage.machine.want(0, {.id = 1, .count = 0});
  stage.end(turns[0]);
  CHECK(stage.take().empty());
  stage.machine.want(0, {.id = 1, .count = 2});
  CHECK(stage.takeKeys() == Keys{3});
}

TEST_CASE("what a consumer gives back is for the others") {
  Stage stage = onDemand();
  stage.machine.want(0, {.id = 1, .count = 1});
  const FrameKey frame = stage.arrive("a", "s");
  const Turn turn = stage.take().at(0);
  stage.machine.unwant(0, 1);
  stage.machine.want(0, {.id = 2, .count = 1});
  stage.machine.placeFreed(turn);
  stage.machine.headReady(turn.queue);
  const std::vector<Turn> again = stage.take();
  CHECK(Stage::keysOf(again) == Keys{frame});
  CHECK(again.at(0).wish == 2);
}

TEST_CASE("P12: age ends a frame that is ready, waits or is not wished for, without a place; not one that is taken") {
  Stage stage = onDemand(1);
  const auto isOver = [](WallTime acceptedAt) { return acceptedAt < wallAt(100); };
  stage.machine.want(0, {.id = 1, .types = "x", .count = 1});
  const FrameKey taken = stage.arrive("a", "taken", "x", wallAt(1));
  REQUIRE(stage.takeKeys() == Keys{taken});
  const FrameKey unwanted = stage.arrive("a", "s", "y", wallAt(1));
  const FrameKey behind = stage.arrive("a", "s", "y", wallAt(200));
  stage.arrive("a", "young", "y", wallAt(200));
  const std::vector<Turn> overdue = stage.machine.takeOverdue(isOver, {}, 10);
  CHECK(Stage::keysOf(overdue) == Keys{unwanted});
  CHECK(overdue.at(0).isOverdue);
  CHECK(stage.machine.placesTaken(0) == 1);
  CHECK(stage.machine.takeOverdue(isOver, {}, 10).empty());
  stage.end(overdue[0]);
  CHECK(stage.machine.placesTaken(0) == 1);
  stage.machine.want(0, {.id = 2, .types = "y", .sessions = "s", .count = 1});
  stage.machine.placeFreed({.pool = 0, .wish = 1});
  CHECK(stage.takeKeys() == Keys{behind});
}

TEST_CASE("a frame that was waiting when its age ended is not ready once more at its instant") {
  Stage stage = onDemand();
  stage.machine.want(0, {.id = 1, .count = 2});
  stage.arrive("a", "s", "t", wallAt(1));
  const Turn turn = stage.take().at(0);
  stage.machine.placeFreed(turn);
  stage.machine.headWaits(turn.queue, at(10));
  REQUIRE(stage.machine.takeOverdue([](WallTime) { return true; }, {}, 10).size() == 1);
  stage.machine.timePassed(at(10));
  CHECK(stage.take().empty());
  stage.machine.headReady(turn.queue);
  CHECK(stage.take().size() == 1);
}

TEST_CASE("P12: a frame that an operator took away lets the next of its session go on, though nobody wished for it") {
  Stage stage = onDemand();
  stage.machine.want(0, {.id = 1, .types = "x", .count = 2});
  const FrameKey taken = stage.arrive("a", "t", "x");
  const FrameKey behindTaken = stage.arrive("a", "t", "y");
  const FrameKey unwanted = stage.arrive("a", "s", "y");
  const FrameKey wanted = stage.arrive("a", "s", "x");
  REQUIRE(stage.takeKeys() == Keys{taken});
  std::vector<QueuedFrame> untaken = stage.machine.untaken();
  std::ranges::sort(untaken, {}, &QueuedFrame::key);
  REQUIRE(untaken.size() == 3);
  CHECK(untaken[0].key == behindTaken);
  CHECK(untaken[1].key == unwanted);
  CHECK(untaken[2].key == wanted);
  const auto gone = [&](const QueuedFrame& frame) { stage.machine.gone({&frame, 1}); };
  // What is taken stays, whatever is said of it.
  gone({untaken[0].queue, taken});
  CHECK(stage.machine.frames() == 4);
  gone(untaken[0]);
  gone(untaken[1]);
  CHECK(stage.machine.frames() == 2);
  CHECK(stage.takeKeys() == Keys{wanted});
  // It is taken by now.
  gone(untaken[2]);
  CHECK(stage.machine.frames() == 2);
}

TEST_CASE("P3: expiry ends a frame of any pool that is ready or waits, at the very instant; not one that is taken") {
  Stage stage({{.types = {"job"}, .places = 1}, {.types = {"*"}, .places = 1, .isOnDemand = true}});
  const auto arrive = [&](const std::string& session, const std::string& type, WallTime expiresAt) {
    return stage.arrive("a", session, type, wallAt(1), expiresAt);
  };
  const FrameKey taken = arrive("taken", "job", wallAt(100));
  REQUIRE(stage.takeKeys() == Keys{taken});
  const FrameKey withoutPlace = arrive("s", "job", wallAt(100));
  const FrameKey unwanted = arrive("u", "t", wallAt(100));
  arrive("v", "t", wallAt(101));
  stage.arrive("a", "w", "job", wallAt(1));
  const auto isOld = [](WallTime) { return false; };
  CHECK(stage.machine.takeOverdue(isOld, wallAt(99), 10).empty());
  Keys ended = Stage::keysOf(stage.machine.takeOverdue(isOld, wallAt(100), 10));
  std::ranges::sort(ended);
  CHECK(ended == Keys{withoutPlace, unwanted});
  CHECK(stage.machine.placesTaken(0) == 1);
}

TEST_CASE("age ends no frame of a pool without a demand, and no more frames at once than are asked for") {
  Stage stage({{.types = {"job"}, .places = 1}, {.types = {"*"}, .places = 1, .isOnDemand = true}});
  stage.arrive("a", "s", "job");
  stage.arrive("a", "u", "t");
  stage.arrive("a", "v", "t");
  const auto isOver = [](WallTime) { return true; };
  CHECK(stage.machine.takeOverdue(isOver, {}, 1).size() == 1);
  CHECK(stage.machine.takeOverdue(isOver, {}, 10).size() == 1);
  CHECK(stage.machine.takeOverdue(isOver, {}, 10).empty());
}

namespace {

/// Mailboxes, and this agent's own frames.
struct MailStage : Stage {
  explicit MailStage(std::size_t places = 10, std::size_t ownPlaces = 0)
      : Stage({{.types = {"*"}, .places = 10},
               {.places = places, .ownPlaces = ownPlaces, .isOnDemand = true, .isForMailboxes = true}}) {}

  FrameKey mail(const std::string& mailbox, const std::string& session, const std::string& sender = "a") {
    machine.arrived({.key = ++last,
                     .sender = sender,
                     .queue = sender + "/" + mailbox + "/" + session,
                     .session = session,
                     .mailbox = mailbox,
                     .type = "t"});
    return last;
  }
  void want(std::uint64_t id, const std::string& mailbox, std::size_t count = 10) {
    machine.want(1, {.id = id, .count = count, .mailbox = mailbox});
  }
};

}  // namespace

TEST_CASE("P12: a mailbox's frames go to its own consumers alone, and what sleeps delays nothing") {
  MailStage stage;
  const FrameKey own = stage.arrive("a", "s");
  const FrameKey asleep = stage.mail("m", "s");
  const FrameKey awake = stage.mail("n", "s");
  stage.want(1, "n");
  CHECK(stage.takeKeys() == Keys{own, awake});
  CHECK(stage.take().empty());
  CHECK_FALSE(stage.machine.hasUnwanted(0));
  stage.want(2, "m");
  CHECK(stage.takeKeys() == Keys{asleep});
}

TEST_CASE("P12: mailboxes take turns, whatever each has waiting, and a place goes to the next one that lacks it") {
  MailStage stage(1);
  const FrameKey first = stage.mail("m", "1");
  stage.mail("m", "2");
  const FrameKey other = stage.mail("n", "1");
  const FrameKey last = stage.mail("o", "1");
  stage.want(1, "m");
  stage.want(2, "n");
  stage.want(3, "o");
  std::vector<Turn> turns = stage.take();
  CHECK(Stage::keysOf(turns) == Keys{first});
  for (const FrameKey expected : {other, last}) {
    stage.end(turns.at(0));
    turns = stage.take();
    CHECK(Stage::keysOf(turns) == Keys{expected});
  }
}

TEST_CASE("P12: a consumer has its own places while others have all that are shared, also after it lacked them") {
  MailStage stage(1, 1);
  for (const char* const session : {"1", "2", "3"}) {
    stage.mail("m", session);
  }
  stage.want(1, "m");
  std::vector<Turn> turns = stage.take();
  REQUIRE(turns.size() == 2);
  const auto own = std::ranges::find_if(turns, [](const Turn& turn) { return turn.isOwn; });
  REQUIRE(own != turns.end());
  CHECK(stage.take().empty());
  stage.end(*own);
  CHECK(stage.take().size() == 1);
}

TEST_CASE(
    "P11: frames that end in a mailbox whose agent sleeps leave nothing behind, and the others keep their turns") {
  MailStage stage;
  const FrameKey first = stage.mail("m", "1");
  for (int number = 0; number < 1'000; ++number) {
    stage.machine.arrived({.key = ++stage.last,
                           .sender = "a",
                           .queue = "a/m/2",
                           .session = "2",
                           .mailbox = "m",
                           .type = "t",
                           .expiresAt = wallAt(1)});
  }
  const FrameKey last = stage.mail("m", "2");
  for (int number = 0; number < 1'000; ++number) {
    const std::vector<Turn> overdue = stage.machine.takeOverdue([](WallTime) { return false; }, wallAt(1), 1);
    REQUIRE(overdue.size() == 1);
    stage.machine.headEnded(overdue.front().queue);
  }
  CHECK(stage.machine.turnsKept() < 100);
  stage.want(1, "m");
  CHECK(stage.takeKeys() == Keys{first, last});
}

TEST_CASE("P4 P12: what a consumer of some types and sessions changes by coming and going is its own part alone") {
  MailStage stage;
  const FrameKey one = stage.mail("m", "1");
  const FrameKey two = stage.mail("m", "2");
  const auto wantSession = [&](std::uint64_t id, const std::string& session) {
    stage.machine.want(1, {.id = id, .sessions = session, .count = 1, .mailbox = "m"});
  };
  wantSession(5, "3");
  CHECK(stage.take().empty());
  wantSession(3, "2");
  const std::vector<Turn> taken = stage.take();
  CHECK(Stage::keysOf(taken) == Keys{two});
  stage.machine.unwant(1, 3);
  stage.machine.placeFreed(taken.front());
  stage.machine.headReady(taken.front().queue);
  CHECK(stage.take().empty());
  // The same wish for another session, and for all.
  wantSession(5, "1");
  CHECK(stage.takeKeys() == Keys{one});
  stage.want(4, "m");
  CHECK(stage.takeKeys() == Keys{two});
}

TEST_CASE("P11: a mailbox without frames and consumers is forgotten, and one that no pool is for is ignored") {
  MailStage stage;
  for (int number = 0; number < 100; ++number) {
    stage.mail("m" + std::to_string(number), "s");
  }
  CHECK(stage.machine.mailboxes() == 100);
  CHECK(stage.machine.fillOf("m7", "a").all == 1);
  CHECK(stage.machine.fillOf("m7", "a").ofSender == 1);
  CHECK(stage.machine.fillOf("m7", "b").ofSender == 0);
  std::vector<QueuedFrame> all = stage.machine.untaken();
  CHECK(all.size() == 100);
  CHECK(stage.take().empty());
  stage.machine.gone(all);
  CHECK(stage.machine.mailboxes() == 0);
  CHECK(stage.machine.frames() == 0);
  Stage other({{.types = {"*"}, .places = 10}});
  other.machine.arrived({.key = 1, .sender = "a", .queue = "q", .mailbox = "m", .type = "t"});
  CHECK(other.take().empty());
  CHECK(other.machine.frames() == 0);
}

}  // namespace ackbox::reception::inbox_machine_test
