// Goal: P10: `explain` names what holds a message where it stands, nearest first, in data and in a sentence.
// Method: bring a message into each situation through the public API, and one by an edit of the file.

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::diagnosis_test {
namespace {

using testing::ScriptedSender;

struct Outbox : testing::OutboxStage {
  void enqueue(const std::string& session, const std::string& id, std::optional<WallTime> expiresAt = {}) {
    Frame made = frame(session, id);
    made.expiresAt = expiresAt;
    REQUIRE(manager.enqueue(made).isNew());
  }
  void answerWith(Outcome outcome) { answerAll(outcome, "no"); }
  std::vector<BlockReason> blockReasons(const std::string& id) {
    std::vector<BlockReason> found;
    for (const Reason& reason : explain(id).reasons) {
      found.push_back(reason.blockReason);
    }
    return found;
  }
  Explanation explain(const std::string& id) {
    auto explanation = manager.explain(id);
    REQUIRE(explanation);
    return *explanation;
  }

  OutboxManager manager = open({.stopTimeout = std::chrono::milliseconds(0)});
};

using enum BlockReason;
using Chain = std::vector<BlockReason>;

TEST_CASE("P10: an unknown id has no explanation; a fresh message waits only for a run") {
  Outbox box;
  CHECK_FALSE(box.manager.explain("nobody"));
  box.enqueue("s", "a");
  CHECK(box.blockReasons("a") == Chain{notRunning});
  CHECK(box.explain("a").sentence ==
        "Message a, sequence 1 of session s to peer default, is PENDING: no run is under way in this process.");
}

TEST_CASE("P10: a message behind its session's head in backoff says both, with the number and the instant") {
  Outbox box;
  box.enqueue("s", "head");
  box.answerWith(Outcome::nack);
  box.manager.drainOnce();
  box.enqueue("t", "other");
  box.enqueue("s", "waiting");
  const Explanation explanation = box.explain("waiting");
  REQUIRE(explanation.reasons.size() == 3);
  CHECK(explanation.reasons[0].blockReason == behind);
  CHECK(explanation.reasons[0].sequence == 1);
  CHECK(explanation.reasons[1].blockReason == backoff);
  CHECK(explanation.reasons[1].until == box.explain("head").message.dueAt);
  CHECK(explanation.reasons[2].blockReason == notRunning);
  CHECK(box.blockReasons("head") == Chain{backoff, notRunning});
  CHECK(box.blockReasons("other") == Chain{notRunning});
}

TEST_CASE("P10: the sentence has the numbers: who blocks, how often it failed, since when the peer is down") {
  Outbox box;
  box.enqueue("s", "head");
  box.enqueue("s", "waiting");
  box.sender->setScript([](const SendRequest& request) {
    SendReport report = ScriptedSender::all(request, Outcome::nack);
    for (FrameResult& result : report.results) {
      result.detail = "503";
    }
    return report;
  });
  for (int attempt = 0; attempt < 3; ++attempt) {
    box.manager.drainOnce();
    box.clock->advance(std::chrono::minutes(2));
  }
  Explanation explanation = box.explain("waiting");
  REQUIRE(explanation.reasons.size() == 2);
  CHECK(explanation.reasons[0].sequence == 1);
  CHECK(explanation.reasons[0].retryCount == 3);
  CHECK(explanation.reasons[0].detail == "503");
  CHECK(explanation.sentence ==
        "Message waiting, sequence 2 of session s to peer default, is PENDING: no run is under way in this process; it "
        "waits behind sequence 1, which failed 3 times, last 503.");

  box.sender->setScript(
      [](const SendRequest&) { return ScriptedSender::failed(RequestOutcome::peerUnavailable, "connection refused"); });
  box.manager.drainOnce();
  explanation = box.explain("waiting");
  const auto down = std::find_if(explanation.reasons.begin(), explanation.reasons.end(),
                                 [](const Reason& reason) { return reason.blockReason == peerDown; });
  REQUIRE(down != explanation.reasons.end());
  CHECK(down->since == box.clock->wallNow());
  CHECK(explanation.sentence.find("; peer default down since 2023-11-14T22:19:20.000Z, next probe in ") !=
        std::string::npos);
  CHECK(explanation.sentence.find(" s (connection refused)") != std::string::npos);
}

TEST_CASE("P10: a dead letter, a deferred message and a message in flight say so") {
  Outbox box;
  box.enqueue("s", "a");
  box.answerWith(Outcome::term);
  box.manager.drainOnce();
  Explanation explanation = box.explain("a");
  REQUIRE(explanation.reasons.size() == 1);
  CHECK(explanation.reasons[0].blockReason == deadLetter);
  CHECK(explanation.reasons[0].detail == explanation.message.reason);
  CHECK(explanation.reasons[0].until == box.clock->wallNow());

  box.enqueue("s", "b");
  box.answerWith(Outcome::defer);
  box.manager.drainOnce();
  CHECK(box.blockReasons("b") == Chain{awaitsAck});

  const auto silent = std::make_shared<testing::SilentSender>();
  box.manager.setSender(silent);
  box.enqueue("s", "c");
  box.manager.start();
  silent->waitForFrames(1);
  explanation = box.explain("c");
  REQUIRE(explanation.reasons.size() == 1);
  CHECK(explanation.reasons[0].blockReason == inFlight);
  CHECK(explanation.reasons[0].processId == getpid());
  box.enqueue("s", "d");
  CHECK(box.blockReasons("d") == Chain{behind, sessionInFlight});
  CHECK(box.explain("d").reasons[0].sequence == 3);
}

TEST_CASE("P8: a peer that is down is named with its next probe and its error") {
  Outbox box;
  box.enqueue("s", "a");
  box.sender->setScript(
      [](const SendRequest&) { return ScriptedSender::failed(RequestOutcome::peerUnavailable, "connection refused"); });
  box.manager.drainOnce();
  const Explanation explanation = box.explain("a");
  REQUIRE(explanation.reasons.size() == 2);
  CHECK(explanation.reasons[0].blockReason == peerDown);
  CHECK(explanation.reasons[0].until > box.clock->wallNow());
  CHECK(explanation.reasons[0].detail == "connection refused");
}

TEST_CASE("P10: expiry and horizon are named before they strike") {
  Outbox box;
  box.enqueue("s", "a", box.clock->wallNow() + std::chrono::seconds(1));
  box.clock->advance(OutboxOptions().retry.horizon);
  CHECK(box.blockReasons("a") == Chain{expired, pastHorizon, notRunning});
}

TEST_CASE("P7: an owner that died is told from one that lives") {
  Outbox box;
  box.enqueue("s", "a");
  SQLite::Database(box.dir.file("agent.db").string(), SQLite::OPEN_READWRITE)
      .exec(
          "INSERT INTO ackbox_owners(id,pid,opened_at_ms) VALUES(90,4242,0); INSERT INTO ackbox_claims SELECT "
          "id>>6,90,1<<(id&63) FROM ackbox_outbox");
  const Explanation explanation = box.explain("a");
  REQUIRE(explanation.reasons.size() == 1);
  CHECK(explanation.reasons[0].blockReason == ownerDead);
  CHECK(explanation.reasons[0].processId == 4242);
  // A tool may ask for years: to look whether an owner lives keeps nothing open.
  const auto openFiles = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = openFiles();
  static_cast<void>(box.explain("a"));
  CHECK(openFiles() == before);
}

TEST_CASE("P10: a message to a peer that this process was not given waits for another process") {
  Outbox box;
  box.enqueue("s", "a");
  const OutboxManager second = box.open({.peers = {{.name = "elsewhere"}}});
  const auto explanation = second.explain("a");
  REQUIRE(explanation);
  CHECK(explanation->reasons.front().blockReason == peerNotConfigured);
}

TEST_CASE("P9: an explanation looks at a bounded number of rows, from the head and from the message") {
  Outbox box;
  std::vector<Frame> frames(45'000);
  for (std::size_t index = 0; index < frames.size(); ++index) {
    frames[index].session = index == 22'000 || index + 1 == frames.size() ? "rare" : "busy";
    frames[index].type = "test.event";
  }
  frames.front().session = "first";
  frames.back().id = "last";
  box.manager.enqueueBatch(frames);
  // The session remembers its head.
  CHECK(box.explain("last").reasons.at(0).sequence == 1);
  SQLite::Database(box.dir.file("agent.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE ackbox_session_states SET head_id=0");
  // Without that, its predecessor is too far from both ends.
  const Explanation explanation = box.explain("last");
  REQUIRE(explanation.reasons.size() == 2);
  CHECK(explanation.reasons[0].blockReason == behind);
  CHECK(explanation.reasons[0].sequence == 0);
}

}  // namespace
}  // namespace ackbox::diagnosis_test
