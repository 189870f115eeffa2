// Goal: the policies of peers and sessions decide when a message is tried again, and what its failure does to its
// session (rows 4, 8, 11, 18; defects 3 and 9). Method: conversations on the stage; delays are read off the releases,
// without jitter where the figure matters.

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>

#include "unit/delivery/stage.hpp"

namespace ackbox::delivery::policies_test {
namespace {

using Keys = std::vector<MessageKey>;
using enum RequestOutcome;

MachineOptions withRetry(RetryPolicy retry) {
  MachineOptions options;
  options.retry = std::move(retry);
  return options;
}

struct Policed : Stage {
  explicit Policed(MachineOptions machineOptions = {}, std::uint64_t seed = 1)
      : Stage(std::move(machineOptions), seed) {
    machine->peerAdded(kPeer, 4);
  }
  /// Nacks the only send, and returns how long its session waits.
  std::chrono::milliseconds nackAndWait(const std::string& detail = {}) {
    FrameResult nack = result(Outcome::nack, "busy");
    nack.detail = detail;
    answer({nack});
    const auto wake = machine->nextWake();
    return wake ? std::chrono::ceil<std::chrono::milliseconds>(*wake - now.steady) : -1ms;
  }
};

TEST_CASE("row 4: exponential delays double from the base and stay at the cap") {
  RetryPolicy retry;
  retry.backoff = Backoff::exponential;
  retry.jitter = false;
  retry.base = 100ms;
  retry.factor = 3;
  retry.cap = 2s;
  Policed stage(withRetry(retry));
  stage.enqueue(1);
  for (const auto expected : {100ms, 300ms, 900ms, 2'000ms, 2'000ms}) {
    CHECK((stage.nackAndWait() == expected));
    stage.advanceToWake();
  }
}

TEST_CASE("row 8: a fixed delay repeats until the budget is spent, then the message is a dead letter") {
  RetryPolicy retry;
  retry.backoff = Backoff::fixed;
  retry.jitter = false;
  retry.base = 5s;
  retry.maxRetries = 3;
  Policed stage(withRetry(retry));
  stage.enqueue(1);
  for (int attempt = 0; attempt < 3; ++attempt) {
    CHECK((stage.nackAndWait() == 5s));
    stage.advanceToWake();
  }
  stage.nackAndWait();
  CHECK((stage.state(1) == MessageState::failed));
  CHECK(stage.rows.at(1).reason == "retry-budget");
}

TEST_CASE("P3: a webhook's policy tries a refused message for seven days, in fewer than a thousand attempts") {
  Policed stage(withRetry(webhookRetryPolicy()));
  stage.enqueue(1);
  const SteadyTime began = stage.now.steady;
  int attempts = 0;
  while (stage.state(1) != MessageState::failed) {
    REQUIRE(++attempts < 1'000);
    stage.nackAndWait();
    while (stage.sends.empty() && stage.advanceToWake()) {
    }
  }
  CHECK(attempts > 300);
  CHECK(stage.now.steady - began >= 7 * 24h);
  CHECK(stage.rows.at(1).reason == "horizon");
  CHECK(stage.rows.at(1).retryCount > 300);
}

TEST_CASE("P3: a calendar that is moved ahead by eight days makes no pending message a dead letter") {
  Policed stage;
  for (SessionKey session = 1; session <= 591; ++session) {
    stage.store(session);
  }
  stage.showRows();
  stage.failRequest(peerUnavailable);
  stage.now.wall += 8 * 24h;
  while (!stage.sends.empty()) {
    stage.failRequest(peerUnavailable);
  }
  // What is enqueued by the new calendar is as old as it says.
  const MessageKey later = stage.enqueue(1'000);
  const SteadyTime began = stage.now.steady;
  std::optional<SteadyTime> firstGivenUp;
  while (stage.state(later) != MessageState::failed) {
    REQUIRE(stage.now.steady - began < 8 * 24h);
    if (stage.sends.empty()) {
      REQUIRE(stage.advanceToWake());
    } else {
      stage.failRequest(peerUnavailable);
    }
    if (!firstGivenUp && !stage.settled.empty() && stage.settled.back().reason == "horizon") {
      firstGivenUp = stage.now.steady;
    }
  }
  REQUIRE(firstGivenUp);
  CHECK(*firstGivenUp - began >= 7 * 24h - 1min);
  CHECK(stage.now.steady - began >= 7 * 24h - 1min);
}

TEST_CASE("P3: a run gives up nothing by its age that is older than the run, until it has gone on for an hour") {
  Policed stage;
  const MessageKey old = stage.store(1);
  stage.rows.at(old).enqueuedAt = stage.now.wall - 8 * 24h;
  stage.showRows();
  const SteadyTime began = stage.now.steady;
  int attempts = 0;
  while (stage.state(old) != MessageState::failed) {
    REQUIRE(stage.now.steady - began < 2h);
    if (stage.sends.empty()) {
      REQUIRE(stage.advanceToWake());
    } else {
      ++attempts;
      stage.failRequest(peerUnavailable);
    }
  }
  CHECK(attempts > 100);
  CHECK(stage.now.steady - began >= 1h);
  CHECK(stage.rows.at(old).reason == "horizon");
}

TEST_CASE("row 8: a retry function is told of the failure, and its nothing gives the message up") {
  std::vector<std::pair<std::uint32_t, std::string>> told;
  RetryPolicy retry;
  retry.backoff = Backoff::custom;
  retry.custom = [&](const RetryContext& context) -> std::optional<std::chrono::milliseconds> {
    told.emplace_back(context.retry, std::string(context.code) + "/" + std::string(context.detail));
    return context.retry < 3 ? std::optional(7s * context.retry) : std::nullopt;
  };
  Policed stage(withRetry(retry));
  stage.enqueue(1);
  CHECK((stage.nackAndWait("a") == 7s));
  stage.advanceToWake();
  CHECK((stage.nackAndWait("b") == 14s));
  stage.advanceToWake();
  stage.nackAndWait("c");
  CHECK((told == std::vector<std::pair<std::uint32_t, std::string>>{{1, "busy/a"}, {2, "busy/b"}, {3, "busy/c"}}));
  CHECK(stage.rows.at(1).reason == "retry-policy");
}

TEST_CASE("row 8: a retry function that throws is replaced by the table, and the message's error says so") {
  RetryPolicy retry;
  retry.backoff = Backoff::custom;
  retry.jitter = false;
  retry.custom = [](const RetryContext&) -> std::optional<std::chrono::milliseconds> {
    throw std::runtime_error("oops");
  };
  Policed stage(withRetry(retry));
  stage.enqueue(1);
  CHECK((stage.nackAndWait("no") == 1s));
  CHECK(stage.rows.at(1).error == "no; the retry function threw: oops");
  CHECK(stage.rows.at(1).retryCount == 1);
}

TEST_CASE("row 8: a session's own policy counts before the machine's, horizon included") {
  RetryPolicy own;
  own.backoff = Backoff::fixed;
  own.jitter = false;
  own.base = 3s;
  own.horizon = 10s;
  MachineOptions options;
  options.retry.jitter = false;
  Policed stage(options);
  stage.policies[2].retry = &own;
  stage.enqueue(1);
  CHECK((stage.nackAndWait() == 1s));
  stage.ackEventually(1);
  stage.enqueue(2);
  CHECK((stage.nackAndWait() == 3s));
  stage.now.wall += 10s;
  stage.advance(3s);
  CHECK(stage.rows.at(2).reason == "horizon");
}

TEST_CASE("A delay longer than an hour is marked as firm, so that the store does not take it for a wrong clock") {
  RetryPolicy retry;
  retry.backoff = Backoff::fixed;
  retry.jitter = false;
  retry.base = 5h;
  Policed stage(withRetry(retry));
  stage.enqueue(1);
  CHECK((stage.nackAndWait() == 5h));
  CHECK(stage.releases.back().isFirm);
}

TEST_CASE("row 18: a failure function may set the next try at an instant, whatever the budget") {
  MachineOptions options;
  options.retry.maxRetries = 0;
  WallTime instant{};
  std::vector<std::string> reasons;
  options.onFailure = [&](const Failure& failure) {
    reasons.emplace_back(failure.reason);
    CHECK(failure.isFinal);
    return FailureDecision::retryAt(instant);
  };
  Policed stage(options);
  stage.enqueue(1);
  stage.enqueue(1);
  instant = stage.now.wall + 50h;
  CHECK((stage.nackAndWait() == 50h));
  CHECK(stage.releases.back().isFirm);
  CHECK(stage.rows.at(1).retryCount == 1);
  CHECK(reasons == std::vector<std::string>{"retry-budget"});
  stage.advance(50h);
  CHECK(stage.onlySend() == Keys{1, 2});
  // The past is now, and the end of time is far but sound.
  instant = WallTime{};
  stage.answer({Stage::result(Outcome::term, "no"), Stage::held()});
  stage.tick();
  CHECK(stage.onlySend() == Keys{1, 2});
  instant = WallTime::max();
  stage.answer({Stage::result(Outcome::term, "no"), Stage::held()});
  stage.advance(24h * 365);
  CHECK(stage.sends.empty());
}

TEST_CASE("row 18: a failure function may give up, discard or block; when it throws the policies decide") {
  MachineOptions options;
  int turn = 0;
  options.onFailure = [&](const Failure&) -> FailureDecision {
    switch (++turn) {
      case 1:
        return FailureDecision::deadLetter("wrong");
      case 2:
        return FailureDecision::discard();
      case 3:
        throw std::runtime_error("oops");
      default:
        return FailureDecision::block();
    }
  };
  Policed stage(options);
  for (SessionKey session = 1; session <= 4; ++session) {
    stage.enqueue(session);
    stage.answer({Stage::result(Outcome::term, "no")});
  }
  CHECK(stage.settled[0].reason == "wrong");
  CHECK_FALSE(stage.settled[0].blocks);
  CHECK(stage.settled[1].reason == "discarded-by-policy");
  CHECK(stage.settled[1].discards);
  CHECK(stage.settled[2].reason == "no");
  CHECK(stage.settled[2].error == "no; the failure function threw: oops");
  CHECK(stage.settled[3].reason == "no");
  CHECK(stage.settled[3].blocks);
}

TEST_CASE("row 18: the sender's own decision counts before the function's") {
  MachineOptions options;
  options.onFailure = [](const Failure&) { return FailureDecision::deadLetter("function"); };
  Policed stage(options);
  stage.enqueue(1);
  FrameResult result = Stage::result(Outcome::nack, "busy");
  result.decision = FailureDecision::deadLetter("sender");
  stage.answer({result});
  CHECK(stage.rows.at(1).reason == "sender");
}

TEST_CASE("P4: with gap policy block, nothing of the session passes its dead letter until it is let go on") {
  Policed stage;
  stage.policies[1].gap = GapPolicy::block;
  stage.store(1);
  stage.store(1);
  stage.store(1);
  stage.showRows();
  stage.answer({Stage::result(Outcome::ack), Stage::result(Outcome::term, "no"), Stage::held()});
  CHECK(stage.sends.empty());
  CHECK(stage.sessions.at(1).blockedBy == 2);
  stage.enqueue(1);
  stage.enqueue(2);
  CHECK(stage.onlySend() == Keys{5});
  stage.ackAll();
  const std::size_t claims = stage.claimsMade;
  stage.order();
  stage.advance(1h);
  CHECK(stage.sends.empty());
  CHECK(stage.claimsMade == claims);
  stage.sessions.at(1).blockedBy = 0;
  stage.order();
  CHECK(stage.onlySend() == Keys{3, 4});
}

TEST_CASE("P4: with gap policy block, an expired row stops what was claimed behind it, not what goes before it") {
  Policed stage;
  stage.policies[1].gap = GapPolicy::block;
  for (int made = 0; made < 4; ++made) {
    stage.store(1);
  }
  stage.rows.at(2).expiresAt = stage.now.wall;
  stage.showRows();
  CHECK(stage.onlySend() == Keys{1});
  CHECK(stage.rows.at(2).reason == "expired");
  stage.ackAll();
  CHECK(stage.sends.empty());
  CHECK((stage.state(3) == MessageState::pending));
  CHECK(stage.sessions.at(1).blockedBy == 2);
}

TEST_CASE("row 11: a paused peer is sent nothing; requests under way are settled; it goes on where it stood") {
  Policed stage;
  stage.enqueue(1);
  stage.holds.isPaused = true;
  stage.order();
  stage.enqueue(1);
  stage.enqueue(2);
  stage.ackAll();
  stage.advance(1h);
  CHECK(stage.sends.empty());
  CHECK((stage.state(1) == MessageState::acked));
  CHECK(stage.machine->peer(kPeer)->isPaused);
  stage.holds.isPaused = false;
  stage.order();
  CHECK_FALSE(stage.sends.empty());
}

TEST_CASE("row 11: resuming a peer that is held probes it at once") {
  Policed stage;
  stage.order();
  stage.enqueue(1);
  stage.failRequest(peerRefused);
  CHECK((stage.machine->peer(kPeer)->hold == PeerHold::held));
  CHECK(stage.sends.empty());
  ++stage.holds.resumes;
  stage.order();
  CHECK(stage.onlySend() == Keys{1});
  stage.order();
  stage.failRequest(peerRefused);
  stage.order();
  CHECK(stage.sends.empty());
}

TEST_CASE("row 11: a peer that is gone is not probed until it is resumed, also after a restart") {
  Policed stage;
  stage.order();
  stage.enqueue(1);
  stage.failRequest(peerGone);
  CHECK((stage.records.back().hold == PeerHold::disabled));
  CHECK_FALSE(stage.machine->nextWake());
  stage.advance(24h);
  CHECK(stage.sends.empty());

  Policed next;
  next.holds.record = stage.records.back();
  next.order();
  next.enqueue(1);
  next.advance(24h);
  CHECK(next.sends.empty());
  next.holds.record.hold = PeerHold::held;
  ++next.holds.resumes;
  next.order();
  CHECK(next.onlySend() == Keys{1});
  next.ackAll();
  CHECK_FALSE(next.records.back().down);
}

TEST_CASE("row 12: a run that finds its peer recorded as down begins with one probe, and says when it is back") {
  Policed stage;
  stage.holds.record = {.peer = kPeer, .down = true, .failures = 9, .error = "refused"};
  stage.order();
  for (SessionKey session = 1; session <= 300; ++session) {
    stage.store(session);
  }
  stage.showRows();
  CHECK(stage.onlySend().size() == 1);
  stage.ackAll();
  REQUIRE(stage.records.size() == 1);
  CHECK_FALSE(stage.records.back().down);
}

TEST_CASE(
    "row 12: where the caller paces the runs, a peer recorded as down is tried in full, and its return recorded") {
  MachineOptions options;
  options.restoresHealth = false;
  Policed stage(options);
  stage.holds.record = {.peer = kPeer, .down = true, .failures = 9, .error = "refused"};
  stage.order();
  stage.enqueue(1);
  stage.ackAll();
  REQUIRE(stage.records.size() == 1);
  CHECK_FALSE(stage.records.back().down);
}

TEST_CASE("row 11: parallel sends: as many requests as the peer may have, never two of one session") {
  Policed stage;
  for (int made = 0; made < 2'000; ++made) {
    stage.store(made % 40 + 1);
  }
  stage.showRows();
  std::size_t most = 0;
  while (!stage.sends.empty()) {
    most = std::max(most, stage.sends.size());
    std::set<SessionKey> seen;
    for (const Actions::Send& send : stage.sends) {
      std::set<SessionKey> own;
      for (const Actions::Send::Item& item : send.items) {
        own.insert(item.session);
      }
      for (const SessionKey session : own) {
        CHECK(seen.insert(session).second);
      }
    }
    stage.ackAll();
  }
  CHECK(most == 4);
}

TEST_CASE("defect 3: ten minutes of outage with the seed's budget of ten retries fail nothing and charge nothing") {
  MachineOptions options;
  options.retry.maxRetries = 10;
  Policed stage(options);
  for (SessionKey session = 1; session <= 20; ++session) {
    stage.store(session);
  }
  stage.showRows();
  const SteadyTime start = stage.now.steady;
  while (stage.now.steady - start < 10min) {
    while (!stage.sends.empty()) {
      stage.failRequest(peerUnavailable);
    }
    REQUIRE(stage.advanceToWake());
  }
  for (const auto& [key, row] : stage.rows) {
    CHECK(row.state != MessageState::failed);
    CHECK(row.retryCount == 0);
  }
  while (!stage.sends.empty() || stage.advanceToWake()) {
    if (!stage.sends.empty()) {
      stage.ackAll();
    }
  }
  for (const auto& [key, row] : stage.rows) {
    CHECK((row.state == MessageState::acked));
  }
}

TEST_CASE("defect 9: two senders with the same failures do not return in step") {
  std::set<std::chrono::milliseconds::rep> retries;
  std::set<std::chrono::milliseconds::rep> probes;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    MachineOptions options;
    options.retry.delays = {60s};
    Policed stage(options, seed);
    stage.enqueue(1);
    retries.insert(stage.nackAndWait().count());
    Policed other({}, seed);
    for (int failure = 0; failure < 7; ++failure) {
      other.enqueue(1);
      other.failRequest(peerUnavailable);
      if (failure < 6) {
        other.advanceToWake();
      }
    }
    probes.insert(std::chrono::ceil<std::chrono::milliseconds>(*other.machine->nextWake() - other.now.steady).count());
  }
  CHECK(retries.size() >= 18);
  CHECK(probes.size() >= 18);
}

TEST_CASE("defect 9: a blocked head has a way on: given up by horizon, its session goes on past it") {
  MachineOptions options;
  options.retry.maxRetries = 1'000'000;
  options.retry.horizon = 1h;
  Policed stage(options);
  stage.enqueue(1);
  stage.answer({Stage::result(Outcome::nack, "busy")});
  stage.advance(30min);
  stage.enqueue(1);
  const auto start = stage.now.steady;
  while (stage.state(2) != MessageState::acked) {
    REQUIRE(stage.now.steady - start < 2h);
    if (stage.sends.empty()) {
      REQUIRE(stage.advanceToWake());
      continue;
    }
    std::vector<FrameResult> results;
    for (const MessageKey key : Stage::keysOf(stage.sends.front())) {
      results.push_back(key == 1 ? Stage::result(Outcome::nack, "busy")
                                 : (results.empty() ? Stage::result(Outcome::ack) : Stage::held()));
    }
    stage.answer(results);
  }
  CHECK(stage.rows.at(1).reason == "horizon");
}

}  // namespace
}  // namespace ackbox::delivery::policies_test
