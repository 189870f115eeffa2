// Goal: a refusal is charged to the frame, or is the application's affair, by what the application takes meanwhile;
// while it is away one frame at a time is pushed. Method: answers one after the other, time by hand.

#include "serve/inbox/push_entry.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace ackbox::serve::push_entry_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Stage {
  PushEntry::Decision answer(const std::string& id, PushVerdict verdict) {
    return entry.answered({"urn:x", id}, std::move(verdict), now);
  }
  PushEntry::Decision refuse(const std::string& id) {
    return answer(id, {.kind = PushVerdict::Kind::refused, .cause = "answers 404"});
  }
  PushEntry::Decision take(const std::string& id) {
    return answer(id, {.kind = PushVerdict::Kind::judged, .result = HandlerResult::ack()});
  }
  PushEntry::Decision miss(const std::string& id) {
    return answer(id, {.kind = PushVerdict::Kind::unreached, .cause = "cannot be reached"});
  }
  [[nodiscard]] std::optional<std::size_t> room() const { return entry.room(now); }
  [[nodiscard]] std::size_t waits() const {
    std::size_t count = 0;
    entry.forEachWait([&](const PushEntry::Name&, const std::string&) { ++count; });
    return count;
  }

  PushEntry entry;
  SteadyTime now{seconds(1'000)};
};

}  // namespace

TEST_CASE("P12: a frame that is refused again after another was taken is charged; before that none is") {
  Stage stage;
  CHECK_FALSE(stage.refuse("bad").result.has_value());
  CHECK_FALSE(stage.refuse("bad").result.has_value());
  CHECK(stage.take("good").result.value().outcome == Outcome::ack);
  const HandlerResult charged = stage.refuse("bad").result.value();
  CHECK(charged.outcome == Outcome::nack);
  CHECK(charged.detail == "the application answers 404");
  // Each charge needs another one that was taken.
  CHECK_FALSE(stage.refuse("bad").result.has_value());
  stage.take("other");
  CHECK(stage.refuse("bad").result.has_value());
}

TEST_CASE("P8: an application that refuses everything charges nothing") {
  Stage stage;
  for (int round = 0; round < 10; ++round) {
    for (const char* id : {"a", "b", "c", "d", "e"}) {
      CHECK_FALSE(stage.refuse(id).result.has_value());
    }
    stage.now += seconds(30);
  }
}

TEST_CASE("P12: one frame that is refused leaves the others their places, and is pushed again ever more rarely") {
  Stage stage;
  CHECK(stage.refuse("bad").pause == seconds(1));
  for (int time = 0; time < 8; ++time) {
    stage.refuse("bad");
    CHECK(stage.room() == std::nullopt);
  }
  CHECK(stage.refuse("bad").pause == seconds(30));
}

TEST_CASE("P12: after refusals of four frames in a row, four are pushed at a time, until one is taken") {
  Stage stage;
  for (const char* id : {"a", "b", "c"}) {
    stage.refuse(id);
  }
  CHECK(stage.room() == std::nullopt);
  stage.refuse("d");
  CHECK(stage.room() == 0);
  CHECK(stage.entry.nextProbe() == stage.now + milliseconds(500));
  stage.now += milliseconds(500);
  CHECK(stage.room() == 4);
  stage.refuse("e");
  CHECK(stage.entry.nextProbe() == stage.now + seconds(1));
  for (int probe = 0; probe < 9; ++probe) {
    stage.now += seconds(5);
    stage.refuse("f");
  }
  CHECK(stage.entry.nextProbe() == stage.now + seconds(5));
  stage.now += seconds(5);
  stage.take("good");
  CHECK(stage.room() == std::nullopt);
}

TEST_CASE("an application that cannot be reached is away at once, and answers to what was under way count once") {
  Stage stage;
  for (const char* id : {"a", "b", "c"}) {
    const PushEntry::Decision decision = stage.miss(id);
    CHECK_FALSE(decision.result.has_value());
    CHECK(decision.hasGone == (std::string(id) == "a"));
  }
  CHECK(stage.room() == 0);
  CHECK(stage.entry.nextProbe() == stage.now + milliseconds(500));
  CHECK(stage.entry.awaySince() == stage.now);
  CHECK(stage.entry.cause() == "cannot be reached");
  CHECK(stage.waits() == 3);
  for (int probe = 0; probe < 9; ++probe) {
    stage.now = stage.entry.nextProbe().value();
    CHECK(stage.room() == 1);
    stage.miss("d");
  }
  CHECK(stage.entry.nextProbe() == stage.now + seconds(30));
}

TEST_CASE("it is back once it has taken all that waited for it, and what ended otherwise is forgotten in time") {
  Stage stage;
  stage.miss("a");
  stage.miss("b");
  CHECK_FALSE(stage.take("a").isBack);
  CHECK(stage.take("b").isBack);
  CHECK(stage.entry.waited() == 2);
  stage.entry.noteBack();
  CHECK_FALSE(stage.take("c").isBack);
  stage.miss("discarded");
  stage.now += std::chrono::minutes(2);
  CHECK(stage.take("c").isBack);
}

TEST_CASE("a failure of an away application's probe is charged, and the next one is as rare") {
  Stage stage;
  stage.miss("a");
  stage.now += milliseconds(500);
  const PushEntry::Decision decision =
      stage.answer("a", {.kind = PushVerdict::Kind::failed, .result = HandlerResult::notNow("503")});
  CHECK(decision.result.has_value());
  CHECK(stage.room() == 0);
}

TEST_CASE("P11: what is remembered of refusals is bounded") {
  Stage stage;
  for (int frame = 0; frame < 5'000; ++frame) {
    stage.refuse(std::to_string(frame));
  }
  CHECK(stage.waits() == 4'096);
}

TEST_CASE("P12: refusals count as in a row only since a frame was taken") {
  Stage stage;
  for (const char* id : {"a", "b", "c"}) {
    stage.refuse(id);
  }
  stage.take("good");
  stage.refuse("d");
  CHECK(stage.room() == std::nullopt);
}

}  // namespace ackbox::serve::push_entry_test
