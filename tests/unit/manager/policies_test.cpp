// Goal: policies and orders as a user of the manager sees them: what blocks, pauses and limits is kept in the file,
// obeyed by every manager on it, visible, and has a way on (rows 4, 8, 11, 12, 18; P4, P10). Method: real files, a peer
// that answers as scripted, time that moves when told; a second manager on the same file is another process as far as
// the store can tell.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/pull.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::policies_test {
namespace {

using namespace std::chrono_literals;
using testing::ScriptedSender;

struct World : testing::OutboxStage {
  [[nodiscard]] OutboxManager open(OutboxOptions options = {}) const {
    options.stopTimeout = 0ms;
    return OutboxStage::open(std::move(options));
  }
  static void enqueue(OutboxManager& manager, const std::string& session, const std::string& id) {
    REQUIRE(manager.enqueue(frame(session, id)).isNew());
  }
  /// The message with this id is answered so; what follows it in its session is held, all others are acked.
  void answer(const std::string& id, Outcome outcome) const {
    sender->setScript([id, outcome](const SendRequest& request) {
      SendReport report = ScriptedSender::all(request, Outcome::ack);
      std::string stopped;
      for (std::size_t index = 0; index < request.frames.size(); ++index) {
        if (request.frames[index].messageId == id) {
          report.results[index].outcome = outcome;
          report.results[index].code = "no";
          stopped = request.frames[index].session;
        } else if (request.frames[index].session == stopped) {
          report.results[index].outcome = Outcome::nack;
          report.results[index].held = true;
        }
      }
      return report;
    });
  }
  /// Every request ends so.
  void fail(RequestOutcome outcome) const {
    sender->setScript([outcome](const SendRequest&) { return ScriptedSender::failed(outcome, "as scripted"); });
  }
  void ackAll() const { answerAll(Outcome::ack); }
};

using Ids = std::vector<std::string>;

OutboxOptions blocking() {
  OutboxOptions options;
  options.sessionPolicies = {{.session = "strict", .gap = GapPolicy::block}};
  return options;
}

std::vector<BlockReason> blockReasons(const OutboxManager& manager, const std::string& id) {
  std::vector<BlockReason> found;
  const std::optional<Explanation> explanation = manager.explain(id);
  REQUIRE(explanation);
  for (const Reason& reason : explanation->reasons) {
    found.push_back(reason.blockReason);
  }
  return found;
}

bool has(const std::vector<BlockReason>& found, BlockReason wanted) {
  return std::find(found.begin(), found.end(), wanted) != found.end();
}

TEST_CASE("P4: a blocked session stops in the file, for every manager and over a restart, until it is unblocked") {
  World world;
  {
    OutboxManager manager = world.open(blocking());
    for (const char* id : {"a", "b", "c", "d"}) {
      World::enqueue(manager, "strict", id);
    }
    World::enqueue(manager, "loose", "x");
    world.answer("b", Outcome::term);
    manager.drainOnce();
    CHECK(manager.find("b")->state == MessageState::failed);
    manager.drainOnce();
    const std::vector<BlockedSession> blocked = OutboxReader(manager).blockedSessions();
    REQUIRE(blocked.size() == 1);
    CHECK(blocked[0].session == "strict");
    CHECK(blocked[0].messageId == "b");
    CHECK(blocked[0].sequence == 2);
    CHECK(blocked[0].reason == "no");
    CHECK(blocked[0].waiting == 2);
    CHECK(blocked[0].since == world.clock->wallNow());
    CHECK(has(blockReasons(manager, "d"), BlockReason::sessionBlocked));
    CHECK(manager.explain("c")->sentence.find("sequence 2 of its session became a dead letter") != std::string::npos);
    CHECK(OutboxReader(manager).verify().clean());
  }
  world.ackAll();
  OutboxManager manager = world.open(blocking());
  OutboxManager other = world.open();
  manager.drainOnce();
  other.drainOnce();
  CHECK(manager.find("c")->state == MessageState::pending);
  CHECK_FALSE(OutboxOperator(other).unblock("default", "loose"));
  CHECK(OutboxOperator(other).unblock("default", "strict"));
  CHECK_FALSE(OutboxOperator(other).unblock("default", "strict"));
  manager.drainOnce();
  CHECK(OutboxReader(manager).blockedSessions().empty());
  CHECK(manager.getStats().pending == 0);
  CHECK(manager.find("b")->state == MessageState::failed);
  CHECK(OutboxReader(manager).verify().clean());
}

TEST_CASE("P4: a message that an operator marks as failed blocks nothing, because the operator has decided about it") {
  World world;
  OutboxManager manager = world.open(blocking());
  for (const char* id : {"a", "b"}) {
    World::enqueue(manager, "strict", id);
  }
  CHECK(OutboxOperator(manager).markFailed("a").done());
  world.ackAll();
  manager.drainOnce();
  CHECK(manager.find("a")->state == MessageState::failed);
  CHECK(OutboxReader(manager).blockedSessions().empty());
  CHECK(manager.getStats().pending == 0);
}

TEST_CASE("P4: to redrive or to discard the dead letter unblocks its session; the redriven one goes last") {
  for (const bool redrives : {true, false}) {
    World world;
    OutboxManager manager = world.open(blocking());
    for (const char* id : {"a", "b"}) {
      World::enqueue(manager, "strict", id);
    }
    world.answer("a", Outcome::term);
    manager.drainOnce();
    manager.drainOnce();
    REQUIRE(OutboxReader(manager).blockedSessions().size() == 1);
    CHECK((redrives ? OutboxOperator(manager).retry("a") : OutboxOperator(manager).discard("a")).done());
    CHECK(OutboxReader(manager).blockedSessions().empty());
    CHECK(OutboxReader(manager).verify().clean());
    world.ackAll();
    manager.processAll();
    CHECK(world.sentIds() == (redrives ? Ids{"a", "b", "b", "a"} : Ids{"a", "b", "b"}));
  }
}

TEST_CASE("row 18: a failure function is told names and decides: discard, and not in silence") {
  World world;
  OutboxOptions options;
  std::string told;
  options.onFailure = [&](const FailureContext& context) {
    told = std::string(context.messageId) + " " + std::string(context.type) + " " + std::string(context.peer) + " " +
           std::string(context.session) + " " + std::string(context.code);
    return FailureDecision::discard();
  };
  OutboxManager manager = world.open(options);
  std::vector<std::string> reasons;
  const Subscription subscription =
      manager.onFailed([&](const FailedEvent& event) { reasons.push_back(event.reason); });
  World::enqueue(manager, "s", "a");
  World::enqueue(manager, "s", "b");
  world.answer("a", Outcome::nack);
  manager.processAll();
  CHECK(told == "a test.event default s no");
  CHECK_FALSE(manager.find("a"));
  CHECK(reasons == Ids{"discarded-by-policy"});
  CHECK(manager.getStats().failed == 0);
  CHECK(manager.getStats().failedTotal == 1);
  CHECK(manager.getStats().pending == 0);
  CHECK(OutboxReader(manager).verify().clean());
}

TEST_CASE("row 18: retry at a time days ahead is kept in the file, and no other manager comes before it") {
  World world;
  OutboxOptions options;
  options.onFailure = [&](const FailureContext& context) { return FailureDecision::retryAt(context.now + 50h); };
  OutboxManager manager = world.open(options);
  OutboxManager other = world.open();
  World::enqueue(manager, "s", "a");
  world.answer("a", Outcome::term);
  manager.drainOnce();
  CHECK(manager.find("a")->dueAt == world.clock->wallNow() + 50h);
  world.ackAll();
  world.clock->advance(1h);
  other.drainOnce();
  CHECK(manager.find("a")->state == MessageState::pending);
  world.clock->advance(48h);
  other.drainOnce();
  CHECK(manager.find("a")->state == MessageState::pending);
  world.clock->advance(1h);
  other.drainOnce();
  CHECK_FALSE(manager.find("a"));
}

TEST_CASE("row 18: a claimed message is settled with a decision, too, and a send function may decide") {
  World world;
  OutboxManager manager = world.open();
  World::enqueue(manager, "s", "a");
  World::enqueue(manager, "s", "b");
  manager.setSendFunction([](const std::string&, const OutboundFrame&) {
    SendFunctionResult result;
    result.decision = FailureDecision::block("stop");
    return result;
  });
  manager.drainOnce();
  CHECK(manager.find("a")->reason == "stop");
  REQUIRE(OutboxReader(manager).blockedSessions().size() == 1);
  CHECK(OutboxReader(manager).blockedSessions()[0].waiting == 1);
  CHECK(PullConsumer(manager).claim(10).empty());
  CHECK(OutboxOperator(manager).unblock("default", "s"));
  CHECK(PullConsumer(manager).claim(10).size() == 1);
}

TEST_CASE("row 11: a pause of a session or a peer is kept over a restart, obeyed by others, and explained") {
  World world;
  {
    OutboxManager manager = world.open();
    CHECK(OutboxOperator(manager).pause("default", "s"));
    CHECK_FALSE(OutboxOperator(manager).pause("default", "s"));
    World::enqueue(manager, "s", "a");
    World::enqueue(manager, "t", "b");
    manager.drainOnce();
    CHECK(world.sentIds() == Ids{"b"});
    CHECK(has(blockReasons(manager, "a"), BlockReason::sessionPaused));
    CHECK(OutboxOperator(manager).pause("default"));
    CHECK_FALSE(OutboxOperator(manager).pause("default"));
    World::enqueue(manager, "t", "c");
  }
  OutboxManager manager = world.open();
  manager.drainOnce();
  CHECK(world.sentIds() == Ids{"b"});
  CHECK(has(blockReasons(manager, "c"), BlockReason::peerPaused));
  REQUIRE(OutboxReader(manager).peers().size() == 1);
  CHECK((OutboxReader(manager).peers()[0].state == PeerState::paused));
  CHECK(OutboxReader(manager).peers()[0].since == world.clock->wallNow());
  CHECK(PullConsumer(manager).claim(10).empty());
  CHECK(OutboxOperator(manager).resume("default"));
  CHECK_FALSE(OutboxOperator(manager).resume("default"));
  CHECK((OutboxReader(manager).peers()[0].state == PeerState::up));
  manager.drainOnce();
  CHECK(world.sentIds() == Ids{"b", "c"});
  CHECK(OutboxOperator(manager).resume("default", "s"));
  CHECK_FALSE(OutboxOperator(manager).resume("default", "s"));
  manager.drainOnce();
  CHECK(world.sentIds() == Ids{"b", "c", "a"});
  CHECK(OutboxReader(manager).verify().clean());
}

TEST_CASE("row 11: a run that is idle notices another process's orders within its poll interval") {
  World world;
  OutboxManager running = world.open();
  OutboxManager tool = world.open();
  std::vector<PeerState> states;
  const Subscription peers = running.onPeer([&states](const PeerEvent& event) { states.push_back(event.state); });
  World::enqueue(running, "s", "first");
  running.start();
  world.sender->waitForFrames(1);
  // What a run is told of rows, it is told together with the orders that came before them.
  CHECK(OutboxOperator(tool).pause("default"));
  World::enqueue(tool, "s", "a");
  while (OutboxReader(running).peers()[0].readySessions == 0 && world.sender->requests() == 1) {
    world.clock->advance(20ms);
    std::this_thread::yield();
  }
  CHECK(world.sentIds() == Ids{"first"});
  CHECK(OutboxOperator(tool).resume("default"));
  while (world.sender->requests() == 1) {
    world.clock->advance(20ms);
    std::this_thread::yield();
  }
  CHECK(OutboxOperator(tool).pause("default", "t"));
  World::enqueue(running, "t", "b");
  World::enqueue(running, "s", "c");
  // Once it has gone, the session before it was asked for and refused.
  world.sender->waitForFrames(3);
  CHECK(OutboxOperator(tool).resume("default", "t"));
  while (world.sender->requests() == 3) {
    world.clock->advance(20ms);
    std::this_thread::yield();
  }
  CHECK(world.sentIds() == Ids{"first", "a", "c", "b"});
  running.stop();
  CHECK((states == std::vector{PeerState::paused, PeerState::up}));
}

TEST_CASE("row 11: the circuit is visible: up, down, held, disabled, and up again after a resume") {
  World world;
  OutboxManager manager = world.open();
  const auto status = [&] { return OutboxReader(manager).peers().at(0); };
  World::enqueue(manager, "s", "a");
  CHECK((status().state == PeerState::up));
  CHECK(status().isConfigured);
  world.fail(RequestOutcome::peerUnavailable);
  manager.drainOnce();
  CHECK((status().state == PeerState::down));
  CHECK(status().failures == 1);
  CHECK(status().since == world.clock->wallNow());
  CHECK(status().nextProbeAt > world.clock->wallNow());
  CHECK(status().lastError == "as scripted");
  CHECK(has(blockReasons(manager, "a"), BlockReason::peerDown));
  world.fail(RequestOutcome::peerRefused);
  manager.drainOnce();
  CHECK((status().state == PeerState::held));
  CHECK(has(blockReasons(manager, "a"), BlockReason::peerHeld));
  world.fail(RequestOutcome::peerGone);
  manager.drainOnce();
  CHECK((status().state == PeerState::disabled));
  CHECK(has(blockReasons(manager, "a"), BlockReason::peerDisabled));
  world.ackAll();
  const std::size_t requests = world.sender->requests();
  world.clock->advance(24h);
  manager.drainOnce();
  CHECK(world.sender->requests() == requests);
  OutboxOperator(manager).resume("default");
  manager.drainOnce();
  CHECK((status().state == PeerState::up));
  CHECK(status().failures == 0);
  CHECK(status().lastError.empty());
  CHECK(manager.getStats().pending == 0);
  CHECK(OutboxReader(manager).verify().clean());
}

TEST_CASE("row 11: orders for a peer that nobody knows are refused") {
  World world;
  OutboxManager manager = world.open();
  for (const auto& order : std::vector<std::function<void()>>{
           [&] { OutboxOperator(manager).pause("bob"); }, [&] { OutboxOperator(manager).resume("bob"); },
           [&] { OutboxOperator(manager).unblock("bob", "s"); }, [&] { OutboxOperator(manager).pause("bob", "s"); },
           [&] { OutboxOperator(manager).resume("bob", "s"); }}) {
    try {
      order();
      FAIL("not refused");
    } catch (const Error& error) {
      CHECK(error.code() == Errc::unknownPeer);
    }
  }
}

TEST_CASE("row 11: what a rate limit holds back is explained by the manager that holds it back") {
  World world;
  OutboxOptions options;
  options.peers.resize(1);
  options.peers[0].rateLimit = {.frames = 1, .per = 1min};
  OutboxManager manager = world.open(options);
  World::enqueue(manager, "s", "a");
  World::enqueue(manager, "s", "b");
  manager.start();
  world.sender->waitForFrames(1);
  while (!has(blockReasons(manager, "b"), BlockReason::rateLimited)) {
    std::this_thread::yield();
  }
  CHECK(OutboxReader(manager).peers()[0].rateLimitedUntil == world.clock->wallNow() + 1min);
  while (world.sender->requests() == 1) {
    world.clock->advance(1min);
    std::this_thread::yield();
  }
  CHECK(world.sentIds() == Ids{"a", "b"});
}

TEST_CASE("P10: verify names a session that is blocked by what is no dead letter of it") {
  World world;
  OutboxManager manager = world.open();
  World::enqueue(manager, "s", "a");
  {
    SQLite::Database database(world.dir.file("agent.db").string(), SQLite::OPEN_READWRITE);
    database.exec("UPDATE ackbox_sessions SET blocked_by=1, blocked_at_ms=1");
  }
  const VerifyReport report = OutboxReader(manager).verify();
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].problem == "what blocks it is no dead letter of it");
}

TEST_CASE("row 12: three hours away and back: all delivered in order, nothing charged, probes bounded, no storm") {
  constexpr int kMessages = 2'000;
  constexpr int kSessions = 200;
  World world;
  OutboxOptions options;
  options.batchFrames = 100;
  OutboxManager manager = world.open(options);
  std::vector<Frame> frames;
  for (int made = 0; made < kMessages; ++made) {
    Frame& frame = frames.emplace_back();
    frame.session = "s" + std::to_string(made % kSessions);
    frame.type = "test.event";
  }
  manager.enqueueBatch(frames);
  world.fail(RequestOutcome::peerUnavailable);
  manager.start();
  const WallTime left = world.clock->wallNow();
  while (world.clock->wallNow() - left < 3h) {
    world.clock->advance(5s);
    static_cast<void>(manager.getStats());
  }
  CHECK(manager.getStats().failed == 0);
  CHECK(manager.getStats().totalRetries == 0);
  const std::size_t probes = world.sender->requests();
  CHECK(probes < 3 * 3600 / 15 + 20);
  // Both are written by the script, which runs one call at a time.
  std::size_t most = 0;
  std::vector<OutboundFrame> sent;
  world.sender->setScript([&](const SendRequest& request) {
    CHECK((!sent.empty() || request.frames.size() == 1));
    most = std::max(most, request.frames.size());
    sent.insert(sent.end(), request.frames.begin(), request.frames.end());
    return ScriptedSender::all(request, Outcome::ack);
  });
  while (manager.getStats().acked < kMessages) {
    world.clock->advance(1s);
    std::this_thread::yield();
  }
  manager.stop();
  CHECK(most <= 100);
  CHECK(sent.size() == kMessages);
  std::map<std::string, std::uint64_t> last;
  for (const OutboundFrame& frame : sent) {
    CHECK(frame.sequence == ++last[frame.session]);
    CHECK(frame.retryCount == 0);
  }
  CHECK(OutboxReader(manager).verify().clean());
}

}  // namespace
}  // namespace ackbox::policies_test
