// Goal: the pull members keep the promises of a run, with the caller in the sender's place: order, one claimer at a
// time, charges, guards; and they and a run keep out of each other's way.
// Method: a real file, time that moves when told, and a second manager on the file as the other process.

#include "ackbox/pull.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "support/memory_disk.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::pull_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ScriptedSender;

struct Outbox : testing::OutboxStage {
  explicit Outbox(OutboxOptions options = {}) : manager(open(std::move(options))) {}

  std::string enqueue(const std::string& session, const std::string& data = "{}", const std::string& peer = "default") {
    Frame made = frame(session);
    made.peer = peer;
    made.data = data;
    return manager.enqueue(made).messageId;
  }

  OutboxManager manager;
};

template <typename Call>
std::error_code errorOf(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

FrameResult nackAfter(milliseconds delay) {
  FrameResult result;
  result.outcome = Outcome::nack;
  result.detail = "not now";
  result.retryAfter = delay;
  return result;
}

TEST_CASE("row 21: claim takes what is due with all that its author gave, and an ack retires it") {
  Outbox box;
  const std::string id = box.enqueue("s", R"({"a":1})");
  std::vector<std::string> told;
  const Subscription sent =
      box.manager.onSent([&](const SentEvent& event) { told.push_back("sent " + event.session); });
  const Subscription acked = box.manager.onAcked([&](const AckedEvent& event) {
    told.push_back("acked " + event.messageId + " of " + event.peer);
    CHECK_FALSE(box.manager.find(event.messageId));
  });
  const std::vector<Claim> claims = PullConsumer(box.manager).claim(10);
  REQUIRE(claims.size() == 1);
  CHECK(claims[0].peer == "default");
  CHECK(claims[0].frame.messageId == id);
  CHECK(claims[0].frame.session == "s");
  CHECK(claims[0].frame.data == R"({"a":1})");
  CHECK(claims[0].frame.sequence == 1);
  CHECK(box.manager.find(id)->state == MessageState::sending);
  CHECK(PullConsumer(box.manager).claim(10).empty());
  CHECK(PullConsumer(box.manager).settle(claims[0], Outcome::ack) == SettleStatus::settled);
  CHECK(told == std::vector<std::string>{"sent s", "acked " + id + " of default"});
  CHECK(box.manager.getStats().acked == 1);
  CHECK(box.manager.getStats().sending == 0);
}

TEST_CASE("row 21: a limit is kept, sessions and peers take turns, and nothing is claimed for a limit of nothing") {
  OutboxOptions options;
  options.peers.resize(2);
  options.peers[0].name = "bob";
  options.peers[1].name = "carol";
  Outbox box(options);
  for (int number = 0; number < 6; ++number) {
    box.enqueue("s" + std::to_string(number), "{}", number < 5 ? "bob" : "carol");
  }
  CHECK(PullConsumer(box.manager).claim(0).empty());
  const std::vector<Claim> first = PullConsumer(box.manager).claim(3);
  REQUIRE(first.size() == 3);
  std::size_t ofCarol = 0;
  for (const Claim& claim : first) {
    ofCarol += claim.peer == "carol" ? 1U : 0U;
  }
  CHECK(ofCarol == 1);
  CHECK(PullConsumer(box.manager).claim(100).size() == 3);
}

TEST_CASE(
    "P4: a session's next message cannot be claimed before the one ahead of it is settled, and waits for its "
    "retry") {
  Outbox box;
  box.enqueue("s", "1");
  box.enqueue("s", "2");
  std::vector<Claim> claims = PullConsumer(box.manager).claim(10);
  REQUIRE(claims.size() == 1);
  CHECK(claims[0].frame.data == "1");
  CHECK(PullConsumer(box.manager).claim(10).empty());
  CHECK(PullConsumer(box.manager).settle(claims[0], nackAfter(seconds(30))) == SettleStatus::settled);
  CHECK(PullConsumer(box.manager).claim(10).empty());
  box.clock->advance(milliseconds(29'999));
  CHECK(PullConsumer(box.manager).claim(10).empty());
  box.clock->advance(milliseconds(1));
  claims = PullConsumer(box.manager).claim(10);
  REQUIRE(claims.size() == 1);
  CHECK(claims[0].frame.data == "1");
  CHECK(claims[0].frame.retryCount == 1);
  CHECK(PullConsumer(box.manager).settle(claims[0], Outcome::ack) == SettleStatus::settled);
  claims = PullConsumer(box.manager).claim(10);
  REQUIRE(claims.size() == 1);
  CHECK(claims[0].frame.data == "2");
  CHECK(claims[0].frame.previousSequence == 1);
}

TEST_CASE("row 21: defer waits for its ACK event, term is a dead letter, a release is free of charge") {
  Outbox box;
  const std::string deferred = box.enqueue("a");
  const std::string refused = box.enqueue("b");
  const std::string released = box.enqueue("c");
  for (const Claim& claim : PullConsumer(box.manager).claim(3)) {
    FrameResult result;
    result.outcome = Outcome::term;
    result.code = "no-such-index";
    if (claim.frame.messageId == deferred) {
      CHECK(PullConsumer(box.manager).settle(claim, Outcome::defer) == SettleStatus::settled);
    } else if (claim.frame.messageId == refused) {
      CHECK(PullConsumer(box.manager).settle(claim, result) == SettleStatus::settled);
    } else {
      CHECK(PullConsumer(box.manager).release(claim) == SettleStatus::settled);
    }
  }
  CHECK(box.manager.find(deferred)->state == MessageState::sent);
  CHECK(box.manager.find(refused)->reason == "no-such-index");
  CHECK(box.manager.find(released)->state == MessageState::pending);
  CHECK(box.manager.find(released)->retryCount == 0);
  CHECK(box.manager.ack(deferred));
  CHECK(PullConsumer(box.manager).claim(10).size() == 1);
}

TEST_CASE("P8: a release with the peer's error holds that peer back until its probe and charges nothing") {
  OutboxOptions options;
  options.peerHealth.probeDelays = {seconds(5)};
  Outbox box(options);
  const std::string id = box.enqueue("a");
  box.enqueue("b");
  const std::vector<Claim> claims = PullConsumer(box.manager).claim(1);
  REQUIRE(claims.size() == 1);
  CHECK(PullConsumer(box.manager).release(claims[0], "connection refused") == SettleStatus::settled);
  CHECK(PullConsumer(box.manager).claim(10).empty());
  box.clock->advance(seconds(6));
  const std::vector<Claim> probe = PullConsumer(box.manager).claim(10);
  REQUIRE(probe.size() == 1);
  CHECK(probe[0].frame.retryCount == 0);
  CHECK(PullConsumer(box.manager).settle(probe[0], Outcome::ack) == SettleStatus::settled);
  CHECK(PullConsumer(box.manager).claim(10).size() == 1);
}

TEST_CASE(
    "row 23: a settle of a claim that was settled, or never given out, is an invalid transition and changes "
    "nothing") {
  Outbox box;
  const std::string id = box.enqueue("s");
  box.enqueue("t");
  const std::vector<Claim> claims = PullConsumer(box.manager).claim(2);
  REQUIRE(claims.size() == 2);
  CHECK(PullConsumer(box.manager).settle(claims[0], Outcome::ack) == SettleStatus::settled);
  CHECK(errorOf([&] { PullConsumer(box.manager).settle(claims[0], Outcome::term); }) == Errc::invalidTransition);
  CHECK(errorOf([&] { PullConsumer(box.manager).release(claims[0]); }) == Errc::invalidTransition);
  Claim invented = claims[1];
  invented.token.number = 99;
  CHECK(errorOf([&] { PullConsumer(box.manager).settle(invented, Outcome::ack); }) == Errc::invalidTransition);

  const ClaimResult good{claims[1].token, {}};
  CHECK(errorOf([&] {
          PullConsumer(box.manager).settleAll(std::vector<ClaimResult>{good, {claims[0].token, {}}});
        }) == Errc::invalidTransition);
  CHECK(errorOf([&] {
          PullConsumer(box.manager).settleAll(std::vector<ClaimResult>{good, good});
        }) == Errc::invalidTransition);
  CHECK(box.manager.find(claims[1].frame.messageId)->state == MessageState::sending);
  CHECK(box.manager.getStats().acked == 1);
  CHECK(PullConsumer(box.manager).settle(claims[1], Outcome::ack) == SettleStatus::settled);
}

TEST_CASE("row 14: a settle that comes too late is a value and changes nothing") {
  Outbox box;
  const std::string first = box.enqueue("s");
  std::vector<Claim> claims = PullConsumer(box.manager).claim(1);
  REQUIRE(claims.size() == 1);

  SUBCASE("an ACK event was quicker") {
    CHECK(box.manager.ack(first));
    CHECK(PullConsumer(box.manager).settle(claims[0], Outcome::term) == SettleStatus::late);
    CHECK(box.manager.getStats().failed == 0);
    CHECK(box.manager.getStats().staleSettles == 1);
  }
  SUBCASE("it was taken back as stuck, and claimed again") {
    box.clock->advance(seconds(61));
    CHECK(PullConsumer(box.manager).recoverStuck(seconds(60)).claims == 1);
    box.clock->advance(seconds(61));
    const std::vector<Claim> again = PullConsumer(box.manager).claim(1);
    REQUIRE(again.size() == 1);
    CHECK(PullConsumer(box.manager).settle(claims[0], Outcome::ack) == SettleStatus::late);
    CHECK(box.manager.find(first)->state == MessageState::sending);
    CHECK(PullConsumer(box.manager).settle(again[0], Outcome::ack) == SettleStatus::settled);
  }
  SUBCASE("the manager was stopped in between") {
    CHECK(box.manager.stop().released == 1);
    const std::vector<Claim> again = PullConsumer(box.manager).claim(1);
    REQUIRE(again.size() == 1);
    CHECK(PullConsumer(box.manager).settle(claims[0], Outcome::ack) == SettleStatus::late);
    CHECK(PullConsumer(box.manager).settle(again[0], Outcome::ack) == SettleStatus::settled);
  }
  SUBCASE("it is another open file's claim") {
    OutboxManager second = box.open();
    box.enqueue("t");
    REQUIRE(PullConsumer(second).claim(1).size() == 1);
    CHECK(PullConsumer(second).settle(claims[0], Outcome::ack) == SettleStatus::late);
    CHECK(box.manager.find(first)->state == MessageState::sending);
    CHECK(PullConsumer(box.manager).settle(claims[0], Outcome::ack) == SettleStatus::settled);
  }
}

TEST_CASE("row 22: recoverStuck takes back only what has been claimed for longer, charged, until the budget ends it") {
  OutboxOptions options;
  options.retry.maxRetries = 1;
  options.retry.jitter = false;
  Outbox box(options);
  const std::string old = box.enqueue("old");
  REQUIRE(PullConsumer(box.manager).claim(1).size() == 1);
  box.clock->advance(seconds(10));
  const std::string young = box.enqueue("young");
  const std::vector<Claim> kept = PullConsumer(box.manager).claim(1);
  REQUIRE(kept.size() == 1);

  std::vector<std::string> errors;
  const Subscription retried = box.manager.onRetry([&](const RetryEvent& event) { errors.push_back(event.error); });
  CHECK(PullConsumer(box.manager).recoverStuck(seconds(10)).claims == 1);
  CHECK(errors == std::vector<std::string>{"claimed and not settled for 10000 ms"});
  CHECK(box.manager.find(old)->state == MessageState::pending);
  CHECK(box.manager.find(old)->retryCount == 1);
  CHECK(box.manager.find(young)->state == MessageState::sending);

  box.clock->advance(seconds(5));
  REQUIRE(PullConsumer(box.manager).claim(1).size() == 1);
  CHECK(PullConsumer(box.manager).recoverStuck(milliseconds(0)).claims == 2);
  CHECK(box.manager.find(old)->state == MessageState::failed);
  CHECK(box.manager.find(old)->reason == "retry-budget");
  CHECK(PullConsumer(box.manager).recoverStuck(milliseconds(0)).claims == 0);
}

TEST_CASE("row 22: a failure function sees which claims were stuck") {
  std::vector<std::string> codes;
  OutboxOptions options;
  options.onFailure = [&codes](const FailureContext& context) {
    codes.emplace_back(context.code);
    return FailureDecision::byPolicy();
  };
  Outbox box(options);
  box.enqueue("s");
  REQUIRE(PullConsumer(box.manager).claim(1).size() == 1);
  CHECK(PullConsumer(box.manager).recoverStuck(milliseconds(0)).claims == 1);
  CHECK(codes == std::vector<std::string>{"stuck"});
}

TEST_CASE("row 14: a deferred message whose ACK event has come is not waited for any more") {
  OutboxOptions options;
  options.ackTimeout = seconds(60);
  Outbox box(options);
  const std::string id = box.enqueue("s");
  CHECK(PullConsumer(box.manager).settle(PullConsumer(box.manager).claim(1).at(0), Outcome::defer) ==
        SettleStatus::settled);
  CHECK(box.manager.ack(id));
  CHECK(PullConsumer(box.manager).claim(1).empty());
  box.clock->advance(std::chrono::hours(1));
  CHECK(PullConsumer(box.manager).claim(1).empty());
  CHECK(box.manager.getStats().staleSettles == 0);
}

TEST_CASE("row 3: two managers on one file share what is due, and neither gets what the other has") {
  Outbox box;
  OutboxManager second = box.open();
  for (int number = 0; number < 4; ++number) {
    box.enqueue("s" + std::to_string(number % 2));
  }
  const std::vector<Claim> mine = PullConsumer(box.manager).claim(1);
  REQUIRE(mine.size() == 1);
  const std::vector<Claim> others = PullConsumer(second).claim(10);
  REQUIRE(others.size() == 1);
  CHECK(others[0].frame.session != mine[0].frame.session);
  CHECK(PullConsumer(box.manager).claim(10).empty());
  CHECK(PullConsumer(second).settle(others[0], Outcome::ack) == SettleStatus::settled);
  CHECK(PullConsumer(box.manager).settle(mine[0], Outcome::ack) == SettleStatus::settled);
  box.clock->advance(seconds(1));
  CHECK(PullConsumer(box.manager).claim(10).size() == 2);
  CHECK(box.manager.stop().released == 2);
  CHECK(OutboxReader(box.manager).verify().findings.empty());
}

TEST_CASE("row 22: recoverStuck puts back what a dead owner had, without waiting and without a charge") {
  Outbox box;
  const std::string id = box.enqueue("s");
  {
    OutboxManager second = box.open();
    REQUIRE(PullConsumer(second).claim(1).size() == 1);
    CHECK(PullConsumer(box.manager).recoverStuck(milliseconds(0)).deadOwners == 0);
  }
  CHECK(box.manager.find(id)->state == MessageState::pending);
  CHECK(box.manager.find(id)->retryCount == 0);
}

TEST_CASE("claims and a run exclude each other: no run begins while claims are outstanding, no claim while one runs") {
  Outbox box;
  box.enqueue("s");
  const std::vector<Claim> claims = PullConsumer(box.manager).claim(1);
  REQUIRE(claims.size() == 1);
  CHECK(errorOf([&] { box.manager.start(); }) == Errc::alreadyRunning);
  CHECK(errorOf([&] { box.manager.drainOnce(); }) == Errc::alreadyRunning);
  CHECK(PullConsumer(box.manager).settle(claims[0], Outcome::ack) == SettleStatus::settled);
  box.enqueue("s");
  box.manager.start();
  box.sender->waitForFrames(1);
  CHECK(errorOf([&] { PullConsumer(box.manager).claim(1); }) == Errc::alreadyRunning);
  CHECK(PullConsumer(box.manager).settle(claims[0], Outcome::ack) == SettleStatus::late);
  CHECK(PullConsumer(box.manager).recoverStuck(milliseconds(0)).claims == 0);
  box.manager.stop();
  CHECK(box.manager.getStats().acked == 2);
  box.enqueue("s");
  CHECK(PullConsumer(box.manager).claim(1).size() == 1);
}

TEST_CASE("an expired message is given up by the claim that finds it, and the next one is claimed instead") {
  Outbox box;
  Frame frame;
  frame.session = "s";
  frame.type = "test.event";
  frame.expiresAt = box.clock->wallNow() + seconds(1);
  const std::string expired = box.manager.enqueue(frame).messageId;
  const std::string next = box.enqueue("s");
  box.clock->advance(seconds(2));
  const std::vector<Claim> claims = PullConsumer(box.manager).claim(1);
  REQUIRE(claims.size() == 1);
  CHECK(claims[0].frame.messageId == next);
  CHECK(box.manager.find(expired)->reason == "expired");
}

TEST_CASE("a callback may claim and settle: nothing waits for itself, and events stay in order") {
  Outbox box;
  for (int number = 1; number <= 3; ++number) {
    box.enqueue("s", std::to_string(number));
  }
  std::vector<std::uint64_t> acked;
  const Subscription subscription = box.manager.onAcked([&](const AckedEvent& event) {
    acked.push_back(event.sequence);
    for (const Claim& claim : PullConsumer(box.manager).claim(1)) {
      CHECK(PullConsumer(box.manager).settle(claim, Outcome::ack) == SettleStatus::settled);
    }
  });
  const std::vector<Claim> claims = PullConsumer(box.manager).claim(1);
  REQUIRE(claims.size() == 1);
  CHECK(PullConsumer(box.manager).settle(claims[0], Outcome::ack) == SettleStatus::settled);
  CHECK(acked == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("a backlog larger than one look is claimed to its last message") {
  Outbox box;
  constexpr std::size_t kMessages = 10'000;
  std::vector<Frame> frames(kMessages);
  for (std::size_t index = 0; index < kMessages; ++index) {
    frames[index].session = "s" + std::to_string(index % 100);
    frames[index].type = "test.event";
    frames[index].data = "{}";
  }
  box.manager.enqueueBatch(frames);
  std::size_t acked = 0;
  for (std::vector<Claim> claims = PullConsumer(box.manager).claim(1000); !claims.empty();
       claims = PullConsumer(box.manager).claim(1000)) {
    std::vector<ClaimResult> results;
    for (const Claim& claim : claims) {
      results.push_back({claim.token, {}});
      results.back().result.outcome = Outcome::ack;
    }
    for (const SettleStatus status : PullConsumer(box.manager).settleAll(results)) {
      acked += status == SettleStatus::settled ? 1U : 0U;
    }
  }
  CHECK(acked == kMessages);
  CHECK(box.manager.getStats().pending == 0);
}

TEST_CASE("a claim reads on in a large backlog when another manager has taken a part of what it knew") {
  Outbox box;
  OutboxManager second = box.open();
  // More than is read at once.
  constexpr std::size_t kKnown = 4'096;
  std::vector<Frame> frames(kKnown + 100);
  for (std::size_t index = 0; index < frames.size(); ++index) {
    frames[index].session = "s" + std::to_string(index);
    frames[index].type = "test.event";
  }
  box.manager.enqueueBatch(frames);
  REQUIRE(PullConsumer(box.manager).claim(1).size() == 1);
  REQUIRE(PullConsumer(second).claim(10).size() == 10);
  CHECK(PullConsumer(box.manager).claim(kKnown - 1).size() == kKnown - 1);
}

TEST_CASE("row 16: unordered messages are claimed side by side, a session's one at a time") {
  Outbox box;
  for (int number = 0; number < 3; ++number) {
    box.enqueue("", std::to_string(number));
    box.enqueue("s", std::to_string(number));
  }
  const std::vector<Claim> claims = PullConsumer(box.manager).claim(10);
  CHECK(claims.size() == 4);
  for (const Claim& claim : claims) {
    CHECK(PullConsumer(box.manager).settle(claim, Outcome::ack) == SettleStatus::settled);
  }
  CHECK(PullConsumer(box.manager).claim(10).size() == 1);
  CHECK(box.manager.stop().released == 1);
  CHECK(OutboxReader(box.manager).verify().findings.empty());
}

#ifndef ACKBOX_STAGE_POSTGRES
// The disk is the test's own.
TEST_CASE("P3: what a settle has found out of this file's memory is told, though its first commit failed") {
  std::atomic<bool> isFull{false};
  testing::MemoryDisk disk;
  disk.onCall = [&](testing::DiskCall call, const std::string& path) {
    return isFull && call == testing::DiskCall::write && path.ends_with("-wal") ? SQLITE_FULL : SQLITE_OK;
  };
  OutboxOptions options;
  options.vfs = disk.name();
  Outbox box(options);
  std::vector<PeerResetEvent> told;
  const Subscription heard = box.manager.onPeerReset([&told](const PeerResetEvent& event) { told.push_back(event); });
  box.enqueue("s");
  FrameResult stale;
  stale.outcome = Outcome::term;
  stale.code = "stale-epoch";
  // Once may be a matter of two processes; twice is this file's.
  PullConsumer(box.manager).settle(PullConsumer(box.manager).claim(1).at(0), stale);
  const Claim again = PullConsumer(box.manager).claim(1).at(0);
  isFull = true;
  CHECK_THROWS_AS(PullConsumer(box.manager).settle(again, stale), Error);
  CHECK(told.empty());
  isFull = false;
  PullConsumer(box.manager).settle(again, stale);
  REQUIRE(told.size() == 1);
  CHECK((told.front().kind == PeerResetKind::selfRestored));
}
#endif

TEST_CASE("P4: what was put back for a peer that lost its store is claimed by hand, too") {
  OutboxOptions options;
  options.peerReset = PeerResetPolicy::resend;
  options.ackedRetention = std::chrono::hours(1);
  Outbox box(options);
  std::string store = "one";
  box.sender->setScript([&store](const SendRequest& request) {
    SendReport report = ScriptedSender::all(request, Outcome::ack);
    report.store = store;
    report.storeEpoch = 1;
    return report;
  });
  box.enqueue("s", "1");
  CHECK(box.manager.drainOnce().acked == 1);
  store = "two";
  box.enqueue("other", "2");
  box.manager.drainOnce();
  const std::vector<Claim> claims = PullConsumer(box.manager).claim(10);
  REQUIRE_FALSE(claims.empty());
  CHECK(claims.front().frame.data == "1");
  CHECK(PullConsumer(box.manager).settle(claims.front(), Outcome::ack) == SettleStatus::settled);
}

TEST_CASE(
    "P3: a calendar that is moved ahead while the file is open gives up no message by its age, in no way of use") {
  OutboxOptions options;
  options.retry.horizon = std::chrono::hours(24 * 7);
  Outbox box(options);
  box.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::nack); });
  box.enqueue("s");
  box.manager.drainOnce();
  box.clock->step(std::chrono::hours(24 * 8));
  SUBCASE("a pass") {
    box.manager.drainOnce();
  }
  SUBCASE("a run until idle") {
    box.manager.processAll();
  }
  SUBCASE("claims by hand") {
    CHECK(PullConsumer(box.manager).claim(10).size() == 1);
    box.manager.stop();
  }
  CHECK(box.manager.getStats().failed == 0);
}

TEST_CASE("row 21: processAll sends until nothing is due, with counts, and leaves what waits") {
  OutboxOptions options;
  options.batchFrames = 10;
  Outbox box(options);
  for (int number = 0; number < 95; ++number) {
    box.enqueue("s" + std::to_string(number % 3), std::to_string(number));
  }
  const std::string doomed = box.enqueue("t", R"("nack")");
  box.sender->setScript([](const SendRequest& request) {
    SendReport report = ScriptedSender::all(request, Outcome::ack);
    for (std::size_t index = 0; index < request.frames.size(); ++index) {
      if (request.frames[index].data == R"("nack")") {
        report.results[index].outcome = Outcome::nack;
      }
    }
    return report;
  });
  CHECK(box.manager.drainOnce().acked < 95);
  const DrainReport report = box.manager.processAll();
  const Stats stats = box.manager.getStats();
  CHECK(stats.acked == 95);
  CHECK(stats.pending == 1);
  CHECK(report.acked > 0);
  CHECK(report.claimed >= report.acked);
  CHECK(box.manager.find(doomed)->retryCount == 1);
  CHECK(box.manager.processAll().claimed == 0);
}

TEST_CASE("P8: processAll ends while a peer is away, and charges nothing") {
  Outbox box;
  box.enqueue("s");
  box.enqueue("t");
  box.sender->setScript([](const SendRequest&) {
    SendReport report;
    report.outcome = RequestOutcome::peerUnavailable;
    return report;
  });
  const DrainReport report = box.manager.processAll();
  CHECK(report.acked == 0);
  CHECK(report.released == report.claimed);
  CHECK(box.manager.getStats().totalRetries == 0);
}

}  // namespace
}  // namespace ackbox::pull_test
