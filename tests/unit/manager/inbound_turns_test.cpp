// Goal: deferred frames have fair turns: senders, then sessions; what is given back holds no place and is charged
// nothing; of a pool with a demand only what is wished for is taken; and age counts while a frame waits for a consumer
// (P4, P12). Method: the store, the runs and the clock are driven by the test, step by step.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "protocol/wire.hpp"
#include "support/inbound_request.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::inbound_turns_test {
namespace {

using std::chrono::seconds;

/// A receiver that keeps what its handler is given.
class Stage {
public:
  explicit Stage(std::uint32_t concurrency = 2) {
    outbox_.agent = "urn:agent:bob";
    outbox_.clock = clock;
    outbox_.log = [](const LogRecord&) {};
    outbox_.storeExecutor = [this](std::function<void()> commit) { commits_.push_back(std::move(commit)); };
    options.allowAnonymous = true;
    options.deferred.concurrency = concurrency;
    options.deferred.retry.jitter = false;
    options.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(runs_.get_executor());
    options.deferred.handler = [this](DeferredFrame frame) { kept.push_back(std::move(frame)); };
    options.deferred.always = [](std::string_view) { return true; };
    manager.emplace(OutboxManager::open(dir.file("bob.db"), outbox_));
  }
  ~Stage() { close(); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void open() {
    handler.emplace(
        *manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); }, options);
    settle();
  }
  void close() {
    // Before what it keeps, which is charged nothing then.
    handler.reset();
    kept.clear();
    settle();
  }

  /// Does what is to be done, until nothing is.
  void settle() {
    bool isBusy = true;
    while (isBusy) {
      isBusy = !commits_.empty();
      while (!commits_.empty()) {
        std::exchange(commits_.front(), {})();
        commits_.pop_front();
      }
      runs_.restart();
      isBusy = runs_.poll() != 0 || isBusy;
    }
  }
  void pass(std::chrono::milliseconds time) {
    clock->advance(time);
    settle();
  }

  /// Frames of as many sessions, with the first number each.
  void post(const std::string& sender, int sessions, const std::string& type = "t", std::uint64_t sequence = 1,
            std::optional<std::chrono::milliseconds> expiresAfter = {}) {
    constexpr int kBatch = 250;
    for (int first = 0; first < sessions; first += kBatch) {
      SendRequest request = testing::sendRequest({});
      request.agent = "urn:agent:" + sender;
      for (int session = first; session < std::min(sessions, first + kBatch); ++session) {
        OutboundFrame& frame = request.frames.emplace_back(
            testing::outboundFrame(type + "-" + std::to_string(session), sequence, type, "1"));
        frame.messageId = sender + ":" + frame.session + ":" + std::to_string(sequence);
        if (expiresAfter) {
          frame.expiresAt = clock->wallNow() + *expiresAfter;
        }
      }
      handler->asyncHandle(testing::inboundRequest(request),
                           [](const InboundResponse& response) { CHECK(response.status < 300); });
      settle();
    }
  }

  void finish(std::size_t index, HandlerResult result = HandlerResult::ack()) {
    DeferredFrame frame = std::move(kept.at(index));
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(index));
    CHECK(frame.finish(std::move(result)));
  }
  void giveBack(std::size_t index, std::chrono::milliseconds pause = {}) {
    DeferredFrame frame = std::move(kept.at(index));
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(index));
    CHECK(frame.giveBack("nobody is there", pause));
  }
  [[nodiscard]] std::vector<std::string> ids() const {
    std::vector<std::string> all;
    for (const DeferredFrame& frame : kept) {
      all.push_back(frame.frame().id);
    }
    return all;
  }
  [[nodiscard]] bool has(const std::string& sender) const {
    return std::ranges::any_of(
        kept, [&](const DeferredFrame& frame) { return frame.frame().source == "urn:agent:" + sender; });
  }
  std::vector<InboxInfo> inbox() { return OutboxReader::open(dir.file("bob.db")).inbox({}).frames; }

  testing::TempDir dir;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  InboundOptions options;
  std::vector<DeferredFrame> kept;
  std::optional<OutboxManager> manager;
  std::optional<InboundHandler> handler;

private:
  OutboxOptions outbox_;
  std::deque<std::function<void()>> commits_;
  boost::asio::io_context runs_;
};

/// A stage whose frames of type `p` are of a pool of 4 places with a demand.
struct OnDemand : Stage {
  OnDemand() {
    options.deferred.pools = {{.types = {"p*"}, .concurrency = 4, .demand = demand}};
    open();
  }
  std::shared_ptr<DeferredDemand> demand = std::make_shared<DeferredDemand>();
};

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("P12: a peer with thousands of waiting frames, and another sends one: its turn is within two of the pool") {
  Stage stage;
  stage.open();
  stage.post("alice", 3'000);
  REQUIRE(stage.kept.size() == 2);
  stage.post("carol", 1);
  CHECK_FALSE(stage.has("carol"));
  stage.finish(1);
  stage.finish(0);
  stage.settle();
  CHECK(stage.kept.size() == 2);
  CHECK(stage.has("carol"));
}

TEST_CASE("P12: turns are as fair after a restart, whatever the order of the rows") {
  Stage stage;
  const auto nobody = std::make_shared<DeferredDemand>();
  stage.options.deferred.pools = {{.types = {"*"}, .concurrency = 1, .demand = nobody}};
  stage.open();
  stage.post("alice", 3'000);
  stage.post("carol", 1);
  CHECK(stage.kept.empty());
  stage.close();
  stage.options.deferred.pools.clear();
  stage.open();
  CHECK(stage.kept.size() == 2);
  CHECK(stage.has("alice"));
  CHECK(stage.has("carol"));
}

TEST_CASE("P12: a frame that is given back holds no place, is charged nothing, and comes again after its pause") {
  Stage stage(1);
  stage.open();
  stage.post("alice", 2);
  REQUIRE(stage.ids() == Ids{"alice:t-0:1"});
  stage.giveBack(0, seconds(10));
  stage.settle();
  CHECK(stage.ids() == Ids{"alice:t-1:1"});
  for (const InboxInfo& frame : stage.inbox()) {
    CHECK(frame.retryCount == 0);
    CHECK(frame.state == (frame.session == "t-1" ? InboxState::running : InboxState::waiting));
  }
  stage.finish(0);
  stage.pass(seconds(9));
  CHECK(stage.kept.empty());
  stage.pass(seconds(1));
  REQUIRE(stage.ids() == Ids{"alice:t-0:1"});
  CHECK(stage.kept[0].retryCount() == 0);
  CHECK_FALSE(stage.kept[0].stopRequested());
  stage.finish(0);
  stage.settle();
  CHECK(stage.inbox().empty());
}

TEST_CASE("P4: the next frame of a session waits for one that was given back") {
  Stage stage;
  stage.open();
  stage.post("alice", 1);
  stage.post("alice", 1, "t", 2);
  stage.giveBack(0);
  stage.settle();
  CHECK(stage.ids() == Ids{"alice:t-0:1"});
  stage.finish(0);
  stage.settle();
  CHECK(stage.ids() == Ids{"alice:t-0:2"});
}

TEST_CASE("an operator's retry and discard reach a frame that was given back") {
  Stage stage;
  stage.open();
  stage.post("alice", 2);
  stage.giveBack(1, seconds(1'000));
  stage.giveBack(0, seconds(1'000));
  stage.settle();
  REQUIRE(stage.kept.empty());
  {
    // Of another process.
    OutboxOptions options;
    options.agent = "urn:agent:bob";
    options.clock = stage.clock;
    options.log = [](const LogRecord&) {};
    OutboxManager other = OutboxManager::open(stage.dir.file("bob.db"), options);
    CHECK(OutboxOperator(other).discardInbox("urn:agent:alice", "alice:t-1:1").done());
    CHECK(OutboxOperator(other).retryInbox("urn:agent:alice", "alice:t-0:1").done());
  }
  stage.pass(seconds(2));
  CHECK(stage.ids() == Ids{"alice:t-0:1"});
}

TEST_CASE("a frame that is given back when it is older than the horizon is given up, with the reason") {
  Stage stage;
  stage.options.deferred.retry.horizon = std::chrono::hours(3);
  stage.open();
  stage.post("alice", 1);
  stage.giveBack(0, std::chrono::hours(2));
  stage.settle();
  CHECK(stage.inbox().size() == 1);
  stage.pass(std::chrono::hours(2));
  REQUIRE(stage.kept.size() == 1);
  stage.clock->advance(std::chrono::hours(1));
  stage.giveBack(0);
  stage.settle();
  CHECK(stage.inbox().empty());
  const std::optional<InboxInfo> ended =
      OutboxReader::open(stage.dir.file("bob.db")).findInbox("urn:agent:alice", "alice:t-0:1");
  REQUIRE(ended.has_value());
  CHECK(ended->reason == "horizon");
  CHECK(ended->lastError == "nobody is there");
}

TEST_CASE("P3: a frame that expires while it waits is given to no handler, and its sender is told; others go on") {
  Stage stage(1);
  stage.open();
  stage.post("alice", 1, "first", 1, seconds(10));
  REQUIRE(stage.ids() == Ids{"alice:first-0:1"});
  stage.post("alice", 1, "t", 1, seconds(10));
  stage.post("alice", 1, "t", 2);
  // The first has its handler, and may end. The second has had no place.
  stage.clock->advance(seconds(10));
  stage.finish(0);
  stage.settle();
  CHECK(stage.ids() == Ids{"alice:t-0:2"});
  const OutboxReader reader = OutboxReader::open(stage.dir.file("bob.db"));
  CHECK_FALSE(reader.findInbox("urn:agent:alice", "alice:first-0:1").has_value());
  const std::optional<InboxInfo> ended = reader.findInbox("urn:agent:alice", "alice:t-0:1");
  REQUIRE(ended.has_value());
  CHECK(ended->reason == "expired");
  CHECK(ended->lastError == "the frame's expirytime passed before it was worked on");
  CHECK(reader.verify().clean());
}

TEST_CASE(
    "P3: a frame that expires ends within a minute, though no consumer comes, no place is free, or it backs off") {
  OnDemand stage;
  stage.post("alice", 1, "backs-off", 1, seconds(10));
  stage.giveBack(0, std::chrono::hours(1));
  stage.settle();
  stage.post("alice", 2, "t");
  stage.post("alice", 1, "without-place", 1, seconds(10));
  stage.post("alice", 1, "p-unwanted", 1, seconds(10));
  const Ids held = {"alice:t-0:1", "alice:t-1:1"};
  REQUIRE(stage.ids() == held);
  CHECK(stage.inbox().size() == 5);
  stage.pass(std::chrono::minutes(1));
  CHECK(stage.ids() == held);
  CHECK(stage.inbox().size() == 2);
}

TEST_CASE("P12: of a pool with a demand, only what is wished for is taken, and the rest stays in the file") {
  OnDemand stage;
  stage.post("alice", 20, "p-unwanted");
  stage.post("alice", 6, "p-wanted");
  CHECK(stage.kept.empty());
  stage.demand->want({.id = 5, .types = "p-wanted", .sessions = "*", .count = 3});
  stage.settle();
  CHECK(stage.ids() == Ids{"alice:p-wanted-0:1", "alice:p-wanted-1:1", "alice:p-wanted-2:1"});
  CHECK(std::ranges::all_of(stage.kept, [](const DeferredFrame& frame) { return frame.wish() == 5; }));
  const std::vector<InboxInfo> frames = stage.inbox();
  CHECK(std::ranges::count(frames, InboxState::running, &InboxInfo::state) == 3);
  stage.finish(0);
  stage.settle();
  CHECK(stage.kept.size() == 3);
  stage.demand->unwant(5);
  stage.finish(0);
  stage.settle();
  CHECK(stage.kept.size() == 2);
}

TEST_CASE("wishes stay for the next handler, and there is no harm in one while there is none") {
  OnDemand stage;
  stage.post("alice", 2, "p");
  stage.demand->want({.id = 1, .types = "*", .sessions = "*", .count = 1});
  stage.settle();
  CHECK(stage.kept.size() == 1);
  stage.close();
  stage.demand->want({.id = 2, .types = "*", .sessions = "*", .count = 1});
  stage.open();
  CHECK(stage.kept.size() == 2);
}

TEST_CASE("P3: what nobody wishes for is given up at its horizon, and what is younger is not") {
  OnDemand stage;
  stage.close();
  stage.options.deferred.retry.horizon = std::chrono::hours(3);
  stage.open();
  stage.post("alice", 1, "p");
  stage.pass(std::chrono::hours(2));
  stage.post("carol", 1, "p");
  CHECK(stage.inbox().size() == 2);
  stage.pass(std::chrono::hours(1));
  stage.pass(std::chrono::minutes(1));
  const std::vector<InboxInfo> left = stage.inbox();
  REQUIRE(left.size() == 1);
  CHECK(left[0].source == "urn:agent:carol");
  CHECK(stage.kept.empty());
}

TEST_CASE("a demand calls once when a frame waits that no wish is for, and again after there was none") {
  Stage stage;
  const auto demand = std::make_shared<DeferredDemand>();
  int calls = 0;
  demand->onUnwanted([&calls] { ++calls; });
  stage.options.deferred.pools = {{.types = {"p*"}, .concurrency = 4, .demand = demand}};
  stage.open();
  CHECK(calls == 0);
  stage.post("alice", 1, "p");
  stage.post("carol", 1, "p");
  CHECK(calls == 1);
  demand->want({.id = 1, .types = "p*", .sessions = "*", .count = 4});
  stage.settle();
  REQUIRE(stage.kept.size() == 2);
  demand->unwant(1);
  stage.settle();
  CHECK(calls == 1);
  stage.post("dave", 1, "p");
  CHECK(calls == 2);
}

TEST_CASE("each charged run of a deferred frame waits for as long as its place in the policy says") {
  Stage stage;
  stage.options.deferred.retry.delays = {seconds(1), seconds(10)};
  stage.open();
  stage.post("alice", 1);
  REQUIRE(stage.kept.size() == 1);
  stage.finish(0, HandlerResult::notNow("busy"));
  stage.settle();
  CHECK(stage.kept.empty());
  stage.pass(seconds(1));
  REQUIRE(stage.kept.size() == 1);
  stage.finish(0, HandlerResult::notNow("busy"));
  stage.settle();
  stage.pass(seconds(9));
  CHECK(stage.kept.empty());
  stage.pass(seconds(1));
  CHECK(stage.kept.size() == 1);
}

}  // namespace ackbox::inbound_turns_test
