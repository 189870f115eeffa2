// Goal: deferred handlers keep P4 and P5: a frame is kept durably and answered `defer`, worked on off the store's lock,
// in its session's order, and ends with a brief commit of effects, inbox row and ACK event; whatever interrupts it, it
// runs again. Method: requests as bytes against a real file; a deferred handler in the test's hands; time moved by the
// test.

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_reader.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "support/inbound_request.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::inbound_deferred_test {
namespace {

using nlohmann::json;

OutboundFrame outbound(const std::string& session, std::uint64_t sequence, const std::string& type = "slow") {
  OutboundFrame frame = testing::outboundFrame(session, sequence, type);
  frame.data = "\"" + frame.messageId + "\"";
  return frame;
}

HandlerResult write(InboundTransaction& transaction, const std::string& data) {
  SQLite::Statement insert(transaction.database(), "INSERT INTO effects(data) VALUES (?)");
  insert.bind(1, data);
  insert.exec();
  return HandlerResult::ack("{\"done\":true}");
}

/// The machine's time, with alarms that never ring and are work of their executor until they are cancelled: as long as
/// one is set, threads of that executor do not end.
class SilentAlarms final : public Clock {
public:
  [[nodiscard]] SteadyTime steadyNow() const override { return system_->steadyNow(); }
  [[nodiscard]] WallTime wallNow() const override { return system_->wallNow(); }
  [[nodiscard]] std::unique_ptr<Alarm> makeAlarm(const boost::asio::any_io_executor& executor) override {
    return std::make_unique<Silent>(executor, set_);
  }
  void awaitSet() const { set_->wait(false); }

private:
  class Silent final : public Alarm {
  public:
    Silent(boost::asio::any_io_executor executor, std::shared_ptr<std::atomic<bool>> set)
        : executor_(std::move(executor)), set_(std::move(set)) {}
    void set(SteadyTime /*deadline*/, std::function<void()> /*wake*/) override {
      work_ = boost::asio::prefer(executor_, boost::asio::execution::outstanding_work.tracked);
      set_->store(true);
      set_->notify_all();
    }
    void cancel() override { work_ = {}; }

  private:
    const boost::asio::any_io_executor executor_;
    const std::shared_ptr<std::atomic<bool>> set_;
    boost::asio::any_io_executor work_;
  };

  const std::shared_ptr<Clock> system_ = systemClock();
  const std::shared_ptr<std::atomic<bool>> set_ = std::make_shared<std::atomic<bool>>(false);
};

/// An agent that defers frames of types that begin with `slow`, and writes the others' data into table `effects`.
struct Receiver {
  explicit Receiver(DeferredHandler deferred = commitAtOnce) {
    options.agent = "urn:agent:bob";
    options.clock = clock;
    options.peers = {{.name = "alice", .agent = "urn:agent:alice"}};
    inbound.allowAnonymous = true;
    inbound.deferred.handler = std::move(deferred);
    inbound.deferred.retry.jitter = false;
    options.log = [this](const LogRecord& record) {
      const std::scoped_lock lock(logMutex);
      log.push_back(toKeyValue(record));
    };
    manager.emplace(OutboxManager::open(dir.file("bob.db"), options));
    // Waits where the store writes just then.
    reader.emplace(dir.file("bob.db").string(), SQLite::OPEN_READWRITE, 10'000);
    reader->exec("CREATE TABLE effects(id INTEGER PRIMARY KEY, data TEXT)");
  }
  void open() {
    handler.emplace(
        *manager,
        [](const InboundFrame& frame, InboundTransaction& transaction) {
          write(transaction, frame.data);
          return frame.type.starts_with("slow") ? HandlerResult::defer() : HandlerResult::ack();
        },
        inbound);
  }
  static void commitAtOnce(DeferredFrame frame) {
    frame.commit([frame](InboundTransaction& transaction) { return write(transaction, frame.frame().data); });
  }

  InboundResponse post(const std::vector<OutboundFrame>& frames, const std::string& agent = "urn:agent:alice") {
    return postTo(*handler, frames, agent);
  }
  static InboundResponse postTo(InboundHandler& handler, const std::vector<OutboundFrame>& frames,
                                const std::string& agent = "urn:agent:alice") {
    SendRequest request = testing::sendRequest(frames);
    request.agent = agent;
    return testing::answerTo(handler, testing::inboundRequest(request));
  }
  json ask(const std::vector<OutboundFrame>& frames, const std::string& agent = "urn:agent:alice") {
    return json::parse(post(frames, agent).body);
  }
  std::vector<std::string> effects() {
    std::vector<std::string> found;
    SQLite::Statement query(*reader, "SELECT data FROM effects ORDER BY id");
    while (query.executeStep()) {
      found.push_back(query.getColumn(0).getString());
    }
    return found;
  }
  /// The results in the ACK events in the outbox.
  std::vector<json> events() {
    std::vector<json> found;
    SQLite::Statement query(*reader, "SELECT data FROM ackbox_outbox WHERE type='ackbox.ack.v1' ORDER BY id");
    while (query.executeStep()) {
      const json event = json::parse(query.getColumn(0).getString());
      for (const json& result : event.at("results")) {
        found.push_back(result);
      }
    }
    return found;
  }
  int eventCount() {
    return reader->execAndGet("SELECT COUNT(*) FROM ackbox_outbox WHERE type='ackbox.ack.v1'").getInt();
  }
  template <typename Condition>
  void until(Condition condition, std::chrono::milliseconds step = std::chrono::milliseconds(0)) {
    // What does not come is a failure, and no test that hangs.
    const SteadyTime patience = systemClock()->steadyNow() + std::chrono::minutes(1);
    while (!condition()) {
      if (systemClock()->steadyNow() > patience) {
        throw std::runtime_error("what was waited for did not come within a minute");
      }
      if (step.count() > 0) {
        clock->advance(step);
      }
      std::this_thread::yield();
    }
  }
  /// Behind whatever the store's thread was given before, and what that has led to.
  void roundTrips() {
    for (int trip = 0; trip < 6; ++trip) {
      CHECK_FALSE(manager->ack("nobody's"));
    }
  }
  void untilEmpty(std::chrono::milliseconds step = std::chrono::milliseconds(0)) {
    until([this] { return manager->getStats().inbox == 0; }, step);
  }

  /// The records of an event in the log, each in one line.
  std::vector<std::string> logged(const std::string& event) {
    const std::scoped_lock lock(logMutex);
    std::vector<std::string> found;
    for (const std::string& line : log) {
      if (line.find(" " + event + " ") != std::string::npos) {
        found.push_back(line);
      }
    }
    return found;
  }

  testing::TempDir dir;
  std::mutex logMutex;
  std::vector<std::string> log;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  OutboxOptions options;
  InboundOptions inbound;
  std::optional<OutboxManager> manager;
  std::optional<SQLite::Database> reader;
  std::optional<InboundHandler> handler;
};

/// Holds handlers up until the test lets them go.
class Gate {
public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    most_ = std::max(most_, waiting_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void await(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }
  int most() {
    const std::scoped_lock lock(mutex_);
    return most_;
  }
  int waiting() {
    const std::scoped_lock lock(mutex_);
    return waiting_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  int waiting_ = 0;
  int most_ = 0;
  bool open_ = false;
};

/// Commits each frame once it has passed.
DeferredHandler behind(Gate& gate) {
  return [&gate](DeferredFrame frame) {
    gate.pass();
    Receiver::commitAtOnce(std::move(frame));
  };
}

TEST_CASE("P5: a deferred frame's effects, its end and its ACK event commit together, after `defer` was answered") {
  Gate gate;
  Receiver bob(behind(gate));
  bob.open();
  const InboundResponse response = bob.post({outbound("s", 1)});
  CHECK(response.status == 202);
  CHECK(json::parse(response.body)["results"][0]["outcome"] == "defer");
  CHECK(json::parse(response.body)["sessions"][0]["accepted"] == "1");
  CHECK(json::parse(response.body)["sessions"][0]["settled"] == "0");
  gate.await(1);
  // What the frame handler wrote before it deferred was undone.
  CHECK(bob.effects().empty());
  CHECK(bob.manager->getStats().received == 0);
  CHECK(bob.ask({outbound("s", 1)})["results"][0] == json{{"id", "s-1"}, {"outcome", "defer"}, {"duplicate", true}});
  gate.open();
  bob.untilEmpty();
  CHECK(bob.effects() == std::vector<std::string>{"\"s-1\""});
  CHECK(bob.manager->getStats().received == 1);
  CHECK(bob.events() ==
        std::vector<json>{{{"id", "s-1"}, {"sessionseq", "1"}, {"outcome", "ack"}, {"result", {{"done", true}}}}});
  const json again = bob.ask({outbound("s", 1)});
  CHECK(again["results"][0]["outcome"] == "ack");
  CHECK(again["results"][0]["duplicate"] == true);
  CHECK(again["results"][0]["result"]["done"] == true);
  CHECK(again["sessions"][0]["settled"] == "1");
  CHECK(OutboxReader(*bob.manager).verify().clean());
}

TEST_CASE("P13: a result that is not JSON is left out, and the sender and the log are told, inline and deferred") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"did it", "is not JSON (a text needs quotes)"},
      {"\"\xff\"", "is not UTF-8"},
      {std::string(60, '[') + std::string(60, ']'), "is nested too deep"},
      {"\"" + std::string(256UL * 1024, 'x') + "\"", "is larger than 256 KiB"}};
  for (const auto& one : wrong) {
    const std::string& result = one.first;
    const std::string& why = one.second;
    Receiver bob([&result](DeferredFrame frame) {
      frame.commit([result](InboundTransaction&) { return HandlerResult::ack(result); });
    });
    bob.handler.emplace(
        *bob.manager,
        [&result](const InboundFrame& frame, InboundTransaction&) {
          return frame.type == "slow" ? HandlerResult::defer() : HandlerResult::ack(result);
        },
        bob.inbound);
    const json inlined = bob.ask({outbound("quick", 1, "quick")})["results"][0];
    CHECK(inlined ==
          json{{"id", "quick-1"}, {"outcome", "ack"}, {"detail", "the handler's result was left out, as it " + why}});
    bob.post({outbound("s", 1)});
    bob.untilEmpty();
    CHECK(bob.events().at(0)["detail"] == "the handler's result was left out, as it " + why);
    // The record is written after the commit.
    bob.until([&bob] { return bob.logged("result-left-out").size() >= 2; });
    const std::scoped_lock lock(bob.logMutex);
    for (const char* type : {"type=quick", "type=slow"}) {
      CHECK(std::ranges::count_if(bob.log, [&](const std::string& line) {
              return line.find("warning result-left-out") != std::string::npos &&
                     line.find(type) != std::string::npos && line.find(why) != std::string::npos;
            }) == 1);
    }
  }
}

TEST_CASE("P13: a handler that defers without a handler for deferred frames is told so in the log, with the remedy") {
  Receiver bob;
  bob.inbound.deferred = {};
  bob.handler.emplace(
      *bob.manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); }, bob.inbound);
  const json answer = bob.ask({outbound("s", 1)})["results"][0];
  CHECK(answer["outcome"] == "nack");
  CHECK(answer["detail"] == "this handler cannot defer: the receiver has no deferred handler");
  bob.until([&bob] { return bob.logged("cannot-defer").size() == 1; });
  CHECK(bob.logged("cannot-defer")[0].find(" warning cannot-defer message=s-1 source=urn:agent:alice type=") !=
        std::string::npos);
}

TEST_CASE("P5: with adoptPeers, a deferred frame's ACK event goes to the peer whose agent the file knows") {
  Receiver bob;
  bob.manager.reset();
  bob.options.peers.clear();
  bob.options.adoptPeers = true;
  bob.manager.emplace(OutboxManager::open(bob.dir.file("bob.db"), bob.options));
  bob.open();
  bob.post({outbound("s", 1)});
  bob.untilEmpty();
  REQUIRE(bob.events().size() == 1);
  CHECK(bob.events()[0]["id"] == "s-1");
}

TEST_CASE("P4: frames that come while one is deferred wait behind it, whatever their type, and run in order") {
  Gate gate;
  Receiver bob(behind(gate));
  bob.open();
  const json ack = bob.ask({outbound("s", 1), outbound("s", 2, "quick"), outbound("s", 3)});
  for (std::size_t index = 0; index < 3; ++index) {
    CHECK(ack["results"][index]["outcome"] == "defer");
  }
  CHECK(ack["sessions"][0]["accepted"] == "3");
  CHECK(bob.ask({outbound("s", 4, "quick")})["results"][0]["outcome"] == "defer");
  CHECK(bob.ask({outbound("other", 1, "quick")})["results"][0]["outcome"] == "ack");
  gate.await(1);
  gate.open();
  bob.untilEmpty();
  CHECK(bob.effects() == std::vector<std::string>{"\"other-1\"", "\"s-1\"", "\"s-2\"", "\"s-3\"", "\"s-4\""});
  // One of a session at a time, although there is room for four.
  CHECK(gate.most() == 1);
  CHECK(bob.manager->getStats().deferred == 4);
  CHECK(bob.ask({outbound("s", 5, "quick")})["results"][0]["outcome"] == "ack");
}

TEST_CASE("P4: frames that are always deferred are kept without their handler's being asked, and run in order") {
  Receiver bob;
  bob.inbound.deferred.always = [](std::string_view type) { return type == "slow"; };
  std::atomic<int> asked = 0;
  const auto defer = [&](const InboundFrame&, InboundTransaction&) {
    ++asked;
    return HandlerResult::defer();
  };
  bob.handler.emplace(*bob.manager, defer, bob.inbound);
  const json results = bob.ask({outbound("s", 1), outbound("s", 2), outbound("s", 3, "other"), outbound("s", 4)});
  for (const json& result : results.at("results")) {
    CHECK(result.at("outcome") == "defer");
  }
  bob.untilEmpty();
  CHECK(bob.effects() == std::vector<std::string>{"\"s-1\"", "\"s-2\"", "\"s-3\"", "\"s-4\""});
  CHECK(asked == 1);
  CHECK(OutboxReader(*bob.manager).verify().clean());
}

TEST_CASE("P13: the answer to a deferred frame, and the file, say that its application is away, until it is there") {
  Gate gate;
  Receiver bob(behind(gate));
  std::mutex mutex;
  auto known = std::make_shared<const std::vector<Application>>(
      std::vector<Application>{{"slow", bob.clock->wallNow(), "a stream"}, {"*", std::nullopt, ""}});
  bob.inbound.deferred.applications = [&] {
    const std::scoped_lock lock(mutex);
    return known;
  };
  bob.open();
  bob.clock->advance(std::chrono::minutes(4));
  const json first = bob.ask({outbound("s", 1), outbound("t", 1, "slower")}).at("results");
  CHECK(first[0].at("outcome") == "defer");
  CHECK(first[0].at("unattendedms") == 240'000);
  CHECK_FALSE(first[1].contains("unattendedms"));
  bob.clock->advance(std::chrono::minutes(1));
  CHECK(bob.ask({outbound("s", 1)}).at("results")[0].at("unattendedms") == 300'000);
  const OutboxReader reader(*bob.manager);
  const auto frame = [&] { return *reader.explainInbox("urn:agent:alice", "s-1"); };
  bob.until([&] { return frame().frame.state == InboxState::unattended; }, std::chrono::milliseconds(10));
  CHECK(frame().sentence.find("is UNATTENDED: it has waited for ") != std::string::npos);
  CHECK(frame().sentence.find(", for a stream.") != std::string::npos);
  CHECK(reader.unattendedFrames().frames == 1);
  {
    const std::scoped_lock lock(mutex);
    known = std::make_shared<const std::vector<Application>>(std::vector<Application>{{"*", std::nullopt, ""}});
  }
  CHECK_FALSE(bob.ask({outbound("s", 1)}).at("results")[0].contains("unattendedms"));
  bob.until([&] { return frame().frame.state == InboxState::running; }, std::chrono::milliseconds(10));
  CHECK(frame().sentence.find(" has had it in hand since ") != std::string::npos);
  gate.open();
  bob.untilEmpty();
  CHECK(reader.verify().clean());
}

TEST_CASE("sessions are worked on side by side, up to the concurrency given") {
  Gate gate;
  Receiver bob(behind(gate));
  bob.inbound.deferred.concurrency = 2;
  bob.open();
  bob.post({outbound("a", 1), outbound("b", 1), outbound("c", 1)});
  gate.await(2);
  gate.open();
  bob.untilEmpty();
  CHECK(gate.most() == 2);
  CHECK(bob.effects().size() == 3);
}

TEST_CASE("the frames of a pool are kept in hand up to a number of their own, and hold up no others") {
  std::mutex mutex;
  std::vector<DeferredFrame> kept;
  Receiver bob([&](DeferredFrame frame) {
    if (frame.frame().type == "slow-kept") {
      const std::scoped_lock lock(mutex);
      kept.push_back(std::move(frame));
    } else {
      Receiver::commitAtOnce(std::move(frame));
    }
  });
  const auto countKept = [&] {
    const std::scoped_lock lock(mutex);
    return kept.size();
  };
  bob.inbound.deferred.concurrency = 1;
  bob.inbound.deferred.pools = {{{"slow-kept"}, 2}};
  bob.open();
  bob.post({outbound("k", 1, "slow-kept"), outbound("l", 1, "slow-kept"), outbound("m", 1, "slow-kept"),
            outbound("a", 1), outbound("b", 1), outbound("k", 2)});
  bob.until([&] { return bob.effects().size() == 2 && countKept() == 2; });
  bob.roundTrips();
  CHECK(countKept() == 2);
  CHECK(bob.manager->getStats().inbox == 4);

  // The two were given out by different threads.
  if (kept.at(0).frame().session != "k") {
    std::swap(kept.at(0), kept.at(1));
  }
  // Behind it in its session comes one that is in no pool.
  std::promise<bool> ended;
  CHECK(kept.at(0).finish(HandlerResult::ack(), [&](bool isCommitted) { ended.set_value(isCommitted); }));
  CHECK(ended.get_future().get());
  CHECK_FALSE(kept.at(0).finish(HandlerResult::ack(), [](bool) { FAIL_CHECK("was called"); }));
  CHECK(bob.manager->getStats().inbox == 3);
  {
    const std::scoped_lock lock(mutex);
    kept.erase(kept.begin());
  }
  bob.until([&] { return bob.effects().size() == 3 && countKept() == 2; });
  for (DeferredFrame& frame : kept) {
    CHECK(frame.finish(HandlerResult::ack()));
  }
  kept.clear();
  bob.untilEmpty();
}

TEST_CASE("a pool whose handlers block holds up no others, and the first pool that has a type has its frames") {
  Gate gate;
  Receiver bob([&](DeferredFrame frame) {
    if (frame.frame().type.starts_with("slow-a")) {
      gate.pass();
    }
    Receiver::commitAtOnce(std::move(frame));
  });
  bob.inbound.deferred.concurrency = 1;
  bob.inbound.deferred.pools = {{{"slow-a*"}, 2}, {{"slow-b", "slow-ab"}, 1}};
  bob.open();
  bob.post({outbound("a", 1, "slow-ab"), outbound("b", 1, "slow-ab"), outbound("c", 1, "slow-ac"),
            outbound("d", 1, "slow-b"), outbound("e", 1)});
  gate.await(2);
  bob.until([&] { return bob.effects().size() == 2; });
  bob.roundTrips();
  CHECK(gate.most() == 2);
  gate.open();
  bob.untilEmpty();
  CHECK(bob.effects().size() == 5);
}

TEST_CASE("a frame that is gone when its turn comes leaves its place to the next") {
  Gate gate;
  Receiver bob([&](DeferredFrame frame) {
    if (frame.frame().session == "a") {
      gate.pass();
    }
    Receiver::commitAtOnce(std::move(frame));
  });
  bob.inbound.deferred.concurrency = 1;
  bob.open();
  bob.post({outbound("a", 1), outbound("b", 1), outbound("c", 1)});
  gate.await(1);
  bob.reader->exec("DELETE FROM ackbox_inbox WHERE session='b'");
  gate.open();
  for (int trips = 0; trips < 200 && bob.effects().size() < 2; ++trips) {
    bob.roundTrips();
  }
  CHECK(bob.effects() == std::vector<std::string>{"\"a-1\"", "\"c-1\""});
}

TEST_CASE("pools that cannot be are refused") {
  Receiver bob;
  const auto refuses = [&](const std::vector<DeferredPool>& pools, const char* text) {
    bob.inbound.deferred.pools = pools;
    CHECK_THROWS_WITH_AS(bob.open(), doctest::Contains(text), Error);
  };
  refuses({{{}, 1}}, "deferred.pools[0].types: is empty");
  refuses({{{"slow"}, 0}}, "deferred.pools[0].concurrency: is 0, allowed: 1 to 4096");
  refuses({{{"slow"}, 4'097}}, "deferred.pools[0].concurrency: is 4097");
  refuses({{{"slow"}, 1, std::make_shared<DeferredDemand>(), 257}},
          "deferred.pools[0].wishConcurrency: is 257, allowed: 0 to 256");
  refuses({{{"slow"}, 1, std::make_shared<DeferredDemand>(), 4}}, "deferred.pools[0].wishConcurrency: needs a demand");
  refuses({{{"slow"}, 253}}, "deferred.pools: must have at most 256 places");
}

TEST_CASE("P11: a commit claims 512 frames at most, a pool after the other, so that others come between") {
  Receiver bob;
  boost::asio::io_context never;
  bob.inbound.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(never.get_executor());
  bob.inbound.deferred.pools = {{{"slow"}, 4'096}, {{"slow-b"}, 4'096}};
  bob.open();
  for (int first = 0; first < 1'000; first += 250) {
    std::vector<OutboundFrame> frames;
    for (int index = first; index < first + 250; ++index) {
      frames.push_back(outbound("s" + std::to_string(index), 1, index < 700 ? "slow" : "slow-b"));
    }
    bob.post(frames);
  }
  bob.handler.reset();
  bob.manager.reset();
  std::deque<std::function<void()>> commits;
  bob.options.storeExecutor = [&](std::function<void()> commit) { commits.push_back(std::move(commit)); };
  bob.manager.emplace(OutboxManager::open(bob.dir.file("bob.db"), bob.options));
  bob.open();
  std::string claimed;
  while (!commits.empty()) {
    std::exchange(commits.front(), {})();
    commits.pop_front();
    const auto count = [&](const std::string& type) {
      return bob.reader->execAndGet("SELECT COUNT(*) FROM ackbox_inbox WHERE owner_id<>0 AND type='" + type + "'")
          .getString();
    };
    const std::string now = count("slow") + " " + count("slow-b") + ", ";
    claimed += claimed.ends_with(now) ? "" : now;
  }
  CHECK(claimed == "0 0, 256 256, 700 300, ");
  bob.handler.reset();
  bob.manager.reset();
}

TEST_CASE("a run that throws, says notNow or vanishes is made again with backoff, and told; then it is given up") {
  int runs = 0;
  std::vector<std::string> told;
  Receiver bob([&](DeferredFrame frame) {
    CHECK(frame.retryCount() == static_cast<std::uint32_t>(runs));
    ++runs;
    if (runs == 1) {
      throw std::runtime_error("boom");
    }
    if (runs == 2) {
      frame.commit([](InboundTransaction& transaction) {
        write(transaction, "undone");
        return HandlerResult::notNow("busy");
      });
    } else if (runs == 3) {
      frame.commit([](InboundTransaction& transaction) -> HandlerResult {
        write(transaction, "undone");
        throw std::runtime_error("in the transaction");
      });
    }
  });
  bob.inbound.deferred.retry.maxRetries = 3;
  bob.inbound.onHandlerError = [&](const InboundFrame&, std::string_view what) { told.emplace_back(what); };
  bob.open();
  const WallTime begun = bob.clock->wallNow();
  bob.post({outbound("s", 1)});
  bob.untilEmpty(std::chrono::milliseconds(100));
  CHECK(runs == 4);
  // 1 + 2 + 4 s of backoff.
  CHECK(bob.clock->wallNow() - begun >= std::chrono::seconds(7));
  CHECK(told == std::vector<std::string>{"boom", "in the transaction", "the handler ended without an answer"});
  CHECK(bob.effects().empty());
  const json word = bob.ask({outbound("s", 1)})["results"][0];
  CHECK(word["outcome"] == "term");
  CHECK(word["code"] == "retry-budget");
  CHECK(bob.events().at(0)["outcome"] == "term");
  const std::vector<std::string> retried = bob.logged("frame-retry");
  REQUIRE(retried.size() == 3);
  CHECK(retried[0].find(" info frame-retry message=s-1 source=urn:agent:alice session=s retries=1 ") !=
        std::string::npos);
  CHECK(retried[0].find(" error=boom ") != std::string::npos);
  CHECK(retried[1].find(" retries=2 ") != std::string::npos);
  CHECK(retried[1].find(" error=busy ") != std::string::npos);
  const std::vector<std::string> failed = bob.logged("frame-failed");
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].find(" warning frame-failed message=s-1 source=urn:agent:alice session=s retries=4 "
                       "reason=retry-budget error=\"the handler ended without an answer\"") != std::string::npos);
  CHECK(bob.manager->getStats().received == 0);
  CHECK(OutboxReader(*bob.manager).verify().clean());
}

TEST_CASE("a horizon as short as can be is one: a run that fails beyond it is the frame's last") {
  int runs = 0;
  Receiver bob([&](DeferredFrame frame) {
    if (++runs == 1) {
      bob.clock->advance(std::chrono::milliseconds(1));
      throw std::runtime_error("not now");
    }
    Receiver::commitAtOnce(std::move(frame));
  });
  bob.inbound.deferred.retry.horizon = std::chrono::milliseconds(1);
  bob.open();
  bob.post({outbound("s", 1)});
  bob.untilEmpty(std::chrono::milliseconds(100));
  CHECK(bob.ask({outbound("s", 1)})["results"][0]["code"] == "horizon");
  CHECK(runs == 1);
}

TEST_CASE("P3: a calendar that jumps by more than the horizon makes no deferred frame older; time that passes does") {
  int runs = 0;
  Receiver bob([&](DeferredFrame frame) {
    ++runs;
    frame.finish(HandlerResult::notNow("paper jam"));
  });
  constexpr std::chrono::hours kJump{8 * 24};
  bob.inbound.deferred.retry.delays = {std::chrono::minutes(10)};
  bob.inbound.deferred.retry.maxRetries = 1'000;
  bob.open();
  const auto untilRetried = [&](int times) {
    bob.until([&] {
      return bob.reader->execAndGet("SELECT coalesce(max(retry_count),-1) FROM ackbox_inbox").getInt() == times;
    });
    // Until the retry is timed: what is timed after a step of the calendar is timed by the new one.
    bob.roundTrips();
  };
  bob.post({outbound("s", 1)});
  untilRetried(1);
  // Ahead, back, and ahead again; also for what comes afterwards.
  for (int jump = 0; jump < 3; ++jump) {
    bob.clock->step(jump % 2 == 0 ? kJump : -kJump);
    bob.clock->advance(std::chrono::minutes(10));
    untilRetried(jump + 2);
  }
  CHECK(bob.events().empty());
  // Another process looks at it for an hour before it gives up what it did not see wait.
  bob.handler.reset();
  bob.clock->advance(kJump);
  bob.open();
  bob.clock->advance(std::chrono::minutes(10));
  untilRetried(5);
  bob.untilEmpty(std::chrono::minutes(10));
  CHECK(bob.ask({outbound("s", 1)})["results"][0]["code"] == "horizon");
  CHECK(runs > 5);
  CHECK(runs < 20);
}

TEST_CASE("a run that failed is made again at the very instant at which it is due") {
  std::atomic<int> runs = 0;
  Receiver bob([&](DeferredFrame frame) {
    if (++runs == 1) {
      throw std::runtime_error("not now");
    }
    Receiver::commitAtOnce(std::move(frame));
  });
  bob.inbound.deferred.retry.delays = {std::chrono::minutes(10)};
  bob.open();
  bob.post({outbound("s", 1)});
  bob.until([&] { return bob.reader->execAndGet("SELECT max(retry_count) FROM ackbox_inbox").getInt() == 1; });
  bob.clock->advance(std::chrono::minutes(10));
  bob.untilEmpty();
  CHECK(runs == 2);
}

TEST_CASE(
    "a frame that waited behind another and was then deferred is deferred for good, also when its run is repeated") {
  Gate gate;
  std::atomic<int> looks = 0;
  std::atomic<int> runs = 0;
  Receiver bob([&](DeferredFrame frame) {
    if (frame.frame().id == "s-1") {
      gate.pass();
    } else if (++runs == 1) {
      throw std::runtime_error("not now");
    }
    Receiver::commitAtOnce(std::move(frame));
  });
  bob.handler.emplace(
      *bob.manager,
      [&](const InboundFrame& frame, InboundTransaction&) {
        looks += frame.id == "s-2" ? 1 : 0;
        return HandlerResult::defer();
      },
      bob.inbound);
  bob.post({outbound("s", 1)});
  gate.await(1);
  bob.post({outbound("s", 2)});
  gate.open();
  bob.untilEmpty(std::chrono::milliseconds(100));
  CHECK(runs == 2);
  CHECK(looks == 1);
}

TEST_CASE("P9: closing a handler on threads of its own waits for no alarm, whatever that was set for") {
  const testing::TempDir folder;
  const auto clock = std::make_shared<SilentAlarms>();
  OutboxOptions options;
  options.clock = clock;
  OutboxManager manager = OutboxManager::open(folder.file("bob.db"), options);
  InboundOptions inbound;
  inbound.allowAnonymous = true;
  inbound.deferred.handler = Receiver::commitAtOnce;
  {
    const InboundHandler handler(
        manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); }, inbound);
    clock->awaitSet();
  }
  CHECK(manager.getStats().inbox == 0);
}

TEST_CASE("a deferred handler that rejects ends its frame, and the session goes on") {
  Receiver bob([](DeferredFrame frame) {
    if (frame.frame().sequence == 1) {
      frame.commit([](InboundTransaction& transaction) {
        write(transaction, "undone");
        return HandlerResult::reject("no such order", "no-order");
      });
    } else {
      Receiver::commitAtOnce(std::move(frame));
    }
  });
  bob.open();
  bob.post({outbound("s", 1), outbound("s", 2)});
  bob.untilEmpty();
  CHECK(bob.effects() == std::vector<std::string>{"\"s-2\""});
  CHECK(bob.events().at(0)["code"] == "no-order");
  CHECK(bob.ask({outbound("s", 1)})["results"][0]["detail"] == "no such order");
  REQUIRE(bob.logged("frame-failed").size() == 1);
  CHECK(bob.logged("frame-failed")[0].find(" retries=1 reason=no-order error=\"no such order\"") != std::string::npos);
  CHECK(bob.logged("frame-retry").empty());
}

TEST_CASE("a run past its deadline is made again beside it, and what it commits late is refused; progress extends it") {
  std::mutex mutex;
  std::vector<DeferredFrame> kept;
  Receiver bob([&](DeferredFrame frame) {
    const std::scoped_lock lock(mutex);
    kept.push_back(frame);
  });
  const auto runs = [&] {
    const std::scoped_lock lock(mutex);
    return kept.size();
  };
  bob.inbound.deferred.timeout = std::chrono::seconds(10);
  bob.inbound.deferred.retry.delays = {std::chrono::milliseconds(0)};
  bob.open();
  bob.post({outbound("s", 1)});
  bob.until([&] { return runs() == 1; });
  for (int round = 0; round < 5; ++round) {
    bob.clock->advance(std::chrono::seconds(9));
    CHECK(kept[0].progress());
  }
  CHECK_FALSE(kept[0].stopRequested());
  bob.clock->advance(std::chrono::seconds(10));
  bob.until([&] { return runs() == 2; });
  CHECK(kept[0].stopRequested());
  CHECK_FALSE(kept[0].progress());
  CHECK_FALSE(kept[0].finish(HandlerResult::ack()));
  CHECK(kept[1].retryCount() == 1);
  CHECK(kept[1].finish(HandlerResult::ack()));
  CHECK_FALSE(kept[1].finish(HandlerResult::ack()));
  bob.untilEmpty();
  CHECK(bob.manager->getStats().received == 1);
}

TEST_CASE("a shutdown interrupts a run without a charge, and the next handler runs it again, in order") {
  Gate gate;
  std::vector<std::uint32_t> starts;
  Receiver bob([&](DeferredFrame frame) {
    while (!frame.stopRequested()) {
      gate.open();
      gate.pass();
      std::this_thread::yield();
    }
  });
  bob.open();
  bob.post({outbound("s", 1), outbound("s", 2, "quick")});
  bob.until([&] { return gate.most() == 1; });
  bob.handler.reset();
  CHECK(bob.manager->getStats().inbox == 2);
  CHECK(OutboxReader(*bob.manager).verify().clean());
  bob.inbound.deferred.handler = [&](DeferredFrame frame) {
    CHECK(frame.retryCount() == 0);
    starts.push_back(frame.startCount());
    Receiver::commitAtOnce(std::move(frame));
  };
  bob.open();
  bob.untilEmpty();
  CHECK(starts == std::vector<std::uint32_t>{2});
  CHECK(bob.effects() == std::vector<std::string>{"\"s-1\"", "\"s-2\""});
}

TEST_CASE("P4: a frame that another process works on is waited for here, and its session goes on when it has ended") {
  Gate gate;
  Receiver bob(behind(gate));
  bob.open();
  bob.post({outbound("s", 1)});
  gate.await(1);
  OutboxManager other = OutboxManager::open(bob.dir.file("bob.db"), bob.options);
  InboundOptions inbound = bob.inbound;
  inbound.deferred.handler = Receiver::commitAtOnce;
  InboundHandler second(
      other, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); }, inbound);
  CHECK(Receiver::postTo(second, {outbound("s", 2)}).status == 202);
  // Behind the look of the second handler, and behind the claim that finds the first frame held.
  for (int commits = 0; commits < 3; ++commits) {
    static_cast<void>(other.ack("nobody's"));
  }
  gate.open();
  bob.handler.reset();
  bob.untilEmpty(std::chrono::milliseconds(100));
  CHECK(bob.effects() == std::vector<std::string>{"\"s-1\"", "\"s-2\""});
}

TEST_CASE("P9: a deferred frame's result is forgotten after its retention, when another frame ends") {
  Receiver bob;
  bob.inbound.processedRetention = std::chrono::hours(1);
  bob.open();
  const auto results = [&bob] {
    return bob.reader->execAndGet("SELECT group_concat(frame_id) FROM ackbox_inbox_results").getString();
  };
  bob.post({outbound("s", 1)});
  bob.untilEmpty();
  CHECK(results() == "s-1");
  bob.clock->advance(std::chrono::hours(2));
  bob.post({outbound("t", 1)});
  bob.untilEmpty();
  CHECK(results() == "t-1");
}

TEST_CASE("P3 P6: kept frames outlive the process's end: a new manager on the file runs them, and knows repetitions") {
  Receiver bob;
  {
    const DeferredHandler handler = std::exchange(bob.inbound.deferred.handler, [](DeferredFrame) {});
    bob.inbound.deferred.retry.delays = {std::chrono::hours(1)};
    bob.open();
    bob.post({outbound("s", 1), outbound("s", 2, "quick")});
    bob.handler.reset();
    bob.manager.reset();
    bob.inbound.deferred.handler = handler;
  }
  bob.manager.emplace(OutboxManager::open(bob.dir.file("bob.db"), bob.options));
  bob.open();
  CHECK(bob.ask({outbound("s", 2, "quick")})["results"][0]["outcome"] == "defer");
  bob.untilEmpty(std::chrono::minutes(1));
  CHECK(bob.effects() == std::vector<std::string>{"\"s-1\"", "\"s-2\""});
}

TEST_CASE("defect 6: a redelivery after more than 7 days in a session is a duplicate, deferred or not") {
  Receiver bob;
  bob.open();
  bob.post({outbound("s", 1), outbound("quick", 1, "quick")});
  bob.untilEmpty();
  bob.clock->advance(std::chrono::hours(24 * 8));
  for (const json& word :
       {bob.ask({outbound("s", 1)})["results"][0], bob.ask({outbound("quick", 1, "quick")})["results"][0]}) {
    CHECK(word["outcome"] == "ack");
    CHECK(word["duplicate"] == true);
  }
  CHECK(bob.effects().size() == 2);
}

TEST_CASE(
    "P3 P5: a deferred frame that is repeated after its expiry is told how things stand, before and after its end") {
  Gate gate;
  Receiver bob(behind(gate));
  bob.open();
  OutboundFrame frame = outbound("s", 1);
  frame.expiresAt = bob.clock->wallNow() + std::chrono::seconds(10);
  REQUIRE(bob.ask({frame})["results"][0]["outcome"] == "defer");
  gate.await(1);
  bob.clock->advance(std::chrono::minutes(1));
  CHECK(bob.ask({frame})["results"][0]["outcome"] == "defer");
  gate.open();
  bob.untilEmpty();
  const json word = bob.ask({frame})["results"][0];
  CHECK(word["outcome"] == "ack");
  CHECK(word["duplicate"] == true);
  CHECK(bob.effects().size() == 1);
}

TEST_CASE(
    "P5: while frames wait, a repeat of any of them with other data is a conflict, and its number nobody else's") {
  Gate gate;
  Receiver bob(behind(gate));
  bob.open();
  bob.post({outbound("s", 1), outbound("s", 2), outbound("s", 3)});
  for (const std::uint64_t sequence : {1U, 2U, 3U}) {
    CAPTURE(sequence);
    OutboundFrame other = outbound("s", sequence);
    CHECK(bob.ask({other})["results"][0]["outcome"] == "defer");
    other.data = "\"other\"";
    CHECK(bob.ask({other})["results"][0]["code"] == "id-conflict");
    other.messageId = "other";
    CHECK(bob.ask({other})["results"][0]["code"] == "stale-epoch");
  }
  gate.open();
  bob.untilEmpty();
  CHECK(bob.effects().size() == 3);
}

TEST_CASE("P4: a frame's successor is not started while its handler still holds the frame, however that has ended") {
  for (const bool succeeds : {true, false}) {
    CAPTURE(succeeds);
    std::mutex mutex;
    std::vector<std::string> started;
    std::optional<DeferredFrame> held;
    Receiver bob([&](DeferredFrame frame) {
      {
        const std::scoped_lock lock(mutex);
        started.push_back(frame.frame().id);
        if (frame.frame().id == "s-1") {
          held.emplace(frame);
        }
      }
      frame.finish(succeeds || frame.frame().id != "s-1" ? HandlerResult::ack() : HandlerResult::reject("no"));
    });
    const auto startedOf = [&] {
      const std::scoped_lock lock(mutex);
      return started;
    };
    bob.open();
    bob.post({outbound("s", 1), outbound("s", 2)});
    bob.until([&] { return bob.manager->getStats().inbox == 1; });
    // Claims are made one after the other, and this one's comes after any that the end of the first led to.
    bob.post({outbound("t", 1)});
    bob.until([&] { return startedOf().size() == 2; });
    CHECK(startedOf() == std::vector<std::string>{"s-1", "t-1"});
    CHECK(bob.reader->execAndGet("SELECT starts FROM ackbox_inbox WHERE frame_id='s-2'").getInt() == 0);
    held.reset();
    bob.untilEmpty();
    CHECK(startedOf().back() == "s-2");
  }
}

TEST_CASE("P4: a run that failed is not made again while its handler still holds the frame") {
  std::mutex mutex;
  std::size_t runs = 0;
  std::optional<DeferredFrame> held;
  Receiver bob([&](DeferredFrame frame) {
    const std::scoped_lock lock(mutex);
    if (frame.frame().session == "s" && ++runs == 1) {
      held.emplace(frame);
      frame.finish(HandlerResult::notNow("busy"));
    } else {
      frame.finish(HandlerResult::ack());
    }
  });
  bob.inbound.deferred.retry.delays = {std::chrono::milliseconds(0)};
  bob.open();
  bob.post({outbound("s", 1)});
  const auto isRetried = [&] {
    return bob.reader->execAndGet("SELECT count(*) FROM ackbox_inbox WHERE frame_id='s-1' AND retry_count=1")
               .getInt() == 1;
  };
  bob.until(isRetried);
  bob.clock->advance(std::chrono::minutes(1));
  bob.post({outbound("t", 1)});
  bob.until([&] { return bob.manager->getStats().received == 1; });
  CHECK(bob.reader->execAndGet("SELECT starts FROM ackbox_inbox WHERE frame_id='s-1'").getInt() == 1);
  {
    const std::scoped_lock lock(mutex);
    CHECK(runs == 1);
    held.reset();
  }
  bob.untilEmpty(std::chrono::milliseconds(100));
  CHECK(runs == 2);
}

TEST_CASE("a frame that one source has deferred holds up no other source's session of the same name and origin") {
  Gate gate;
  Receiver bob(behind(gate));
  bob.open();
  REQUIRE(bob.ask({outbound("s", 1)})["results"][0]["outcome"] == "defer");
  gate.await(1);
  const json ack = bob.ask({outbound("s", 1, "quick")}, "urn:agent:carol");
  CHECK(ack["results"][0]["outcome"] == "ack");
  CHECK(ack["sessions"][0]["settled"] == "1");
  CHECK(bob.ask({outbound("s", 2, "quick")}, "urn:agent:carol")["results"][0]["outcome"] == "ack");
  gate.open();
  bob.untilEmpty();
}

TEST_CASE("without a deferred handler, `defer` is `notNow`; beyond framesMax nothing more is kept") {
  Receiver bob(nullptr);
  bob.open();
  CHECK(bob.ask({outbound("s", 1)})["results"][0]["outcome"] == "nack");
  CHECK(bob.manager->getStats().inbox == 0);
  bob.inbound.deferred.handler = [](DeferredFrame frame) {
    while (!frame.stopRequested()) {
      std::this_thread::yield();
    }
  };
  bob.inbound.deferred.framesMax = 2;
  bob.open();
  const json ack = bob.ask({outbound("s", 1), outbound("s", 2), outbound("s", 3), outbound("s", 4)});
  CHECK(ack["results"][1]["outcome"] == "defer");
  CHECK(ack["results"][2]["code"] == "inbox-full");
  CHECK(ack["results"][3]["code"] == "held");
}

TEST_CASE("an effect that ends the transaction fails its own run only") {
  int runs = 0;
  Receiver bob([&](DeferredFrame frame) {
    ++runs;
    frame.commit([&, first = runs == 1, frame](InboundTransaction& transaction) {
      if (first) {
        transaction.database().exec("COMMIT");
      }
      return write(transaction, frame.frame().data);
    });
  });
  bob.open();
  bob.post({outbound("s", 1)});
  bob.untilEmpty(std::chrono::milliseconds(100));
  CHECK(runs == 2);
  CHECK(bob.effects() == std::vector<std::string>{"\"s-1\""});
  CHECK(bob.manager->getStats().received == 1);
}

/// Runs that end in `sessions` of one frame each, all before the store commits again.
class EndsTogether {
public:
  explicit EndsTogether(int sessions, std::function<HandlerResult(const InboundFrame&, InboundTransaction&)> effects,
                        std::size_t frameBytesMax = OutboxOptions().frameBytesMax)
      : bob([this, effects = std::move(effects)](const DeferredFrame& frame) {
          if (!isOpen_) {
            gate_.pass();
          }
          DeferredFrame(frame).commit(
              [frame, effects](InboundTransaction& transaction) { return effects(frame.frame(), transaction); });
          ++ended_;
        }) {
    bob.manager.reset();
    bob.options.frameBytesMax = frameBytesMax;
    bob.options.storeExecutor = [this](std::function<void()> commit) {
      const std::scoped_lock lock(mutex_);
      commits_.push_back(std::move(commit));
    };
    bob.manager.emplace(OutboxManager::open(bob.dir.file("bob.db"), bob.options));
    bob.inbound.deferred.concurrency = static_cast<std::uint32_t>(sessions);
    bob.open();
    std::vector<OutboundFrame> frames;
    for (int session = 0; session < sessions; ++session) {
      frames.push_back(outbound("s" + std::to_string(session), 1));
    }
    bob.handler->asyncHandle(testing::inboundRequest(testing::sendRequest(frames)), [](const InboundResponse&) {});
    until([&] { return gate_.waiting() == sessions; });
    isOpen_ = true;
    gate_.open();
    while (ended_ < sessions) {
      std::this_thread::yield();
    }
  }
  EndsTogether(const EndsTogether&) = delete;
  EndsTogether& operator=(const EndsTogether&) = delete;
  ~EndsTogether() {
    bob.handler.reset();
    bob.manager.reset();
  }

  /// Commits and lets time pass until then.
  template <typename Condition>
  void until(Condition condition, std::chrono::milliseconds step = std::chrono::milliseconds(0)) {
    bob.until(
        [&] {
          for (std::function<void()> commit = next(); commit; commit = next()) {
            commit();
          }
          return condition();
        },
        step);
  }

  Receiver bob;

private:
  std::function<void()> next() {
    const std::scoped_lock lock(mutex_);
    if (commits_.empty()) {
      return nullptr;
    }
    std::function<void()> commit = std::move(commits_.front());
    commits_.pop_front();
    return commit;
  }

  Gate gate_;
  std::atomic<bool> isOpen_{false};
  std::atomic<int> ended_{0};
  std::mutex mutex_;
  std::deque<std::function<void()>> commits_;
};

TEST_CASE("P5: runs that end while the store is busy share a commit, and one ACK event with a result for each") {
  EndsTogether world(
      8, [](const InboundFrame& frame, InboundTransaction& transaction) { return write(transaction, frame.data); });
  Receiver& bob = world.bob;
  CHECK(bob.effects().empty());
  world.until([&] { return !bob.effects().empty(); });
  CHECK(bob.effects().size() == 8);
  CHECK(bob.eventCount() == 1);
  const std::vector<json> events = bob.events();
  REQUIRE(events.size() == 8);
  std::set<std::string> ids;
  for (const json& event : events) {
    CHECK(event["outcome"] == "ack");
    CHECK(event["sessionseq"] == "1");
    CHECK(event["result"] == json{{"done", true}});
    ids.insert(event["id"].get<std::string>());
  }
  CHECK(ids.size() == 8);
  CHECK(OutboxReader(*bob.manager).verify().clean());
}

TEST_CASE("P5: results that are too large for one ACK event go in one each") {
  EndsTogether world(
      8, [](const InboundFrame& frame, InboundTransaction& transaction) { return write(transaction, frame.data); },
      500);
  Receiver& bob = world.bob;
  world.until([&] { return !bob.effects().empty(); });
  CHECK(bob.eventCount() == 8);
  REQUIRE(bob.events().size() == 8);
  CHECK(bob.events().front().at("result") == json{{"done", true}});
}

TEST_CASE("P5: a run that cannot be committed fails alone, though it shares its commit with others") {
  bool isBad = true;
  bool endsTransaction = false;
  SUBCASE("its effect ends the transaction") {
    endsTransaction = true;
  }
  SUBCASE("SQLite undoes its effect") {}
  EndsTogether world(8, [&](const InboundFrame& frame, InboundTransaction& transaction) {
    SQLite::Database& database = transaction.database();
    if (isBad && frame.session == "s3" && endsTransaction) {
      database.exec("COMMIT");
    } else if (isBad && frame.session == "s3") {
      sqlite3_progress_handler(
          database.getHandle(), 1, [](void*) { return 1; }, nullptr);
      const std::unique_ptr<sqlite3, void (*)(sqlite3*)> end(
          database.getHandle(), [](sqlite3* connection) { sqlite3_progress_handler(connection, 0, nullptr, nullptr); });
      return write(transaction, "interrupted");
    }
    return write(transaction, frame.data);
  });
  Receiver& bob = world.bob;
  world.until([&] { return bob.effects().size() >= 7; });
  CHECK(bob.effects().size() == 7);
  CHECK(bob.events().size() == 7);
  CHECK(bob.reader->execAndGet("SELECT group_concat(session) FROM ackbox_inbox").getString() == "s3");
  isBad = false;
  world.until([&] { return bob.effects().size() == 8; }, std::chrono::milliseconds(100));
  CHECK(bob.effects().back() == "\"s3-1\"");
  CHECK(bob.events().size() == 8);
}

TEST_CASE("P8: an effect that SQLite undoes when it is interrupted is run again without a charge") {
  int runs = 0;
  int errors = 0;
  Receiver bob([&](DeferredFrame frame) {
    ++runs;
    frame.commit([&, first = runs == 1, frame](InboundTransaction& transaction) {
      if (first) {
        SQLite::Database& database = transaction.database();
        sqlite3_progress_handler(
            database.getHandle(), 1, [](void*) { return 1; }, nullptr);
        const std::unique_ptr<sqlite3, void (*)(sqlite3*)> end(database.getHandle(), [](sqlite3* connection) {
          sqlite3_progress_handler(connection, 0, nullptr, nullptr);
        });
        return write(transaction, "interrupted");
      }
      return write(transaction, frame.frame().data);
    });
  });
  bob.inbound.onHandlerError = [&](const InboundFrame&, std::string_view) { ++errors; };
  bob.inbound.deferred.retry.maxRetries = 0;
  bob.open();
  bob.post({outbound("s", 1)});
  bob.untilEmpty(std::chrono::milliseconds(100));
  CHECK(runs == 2);
  CHECK(errors == 0);
  CHECK(bob.effects() == std::vector<std::string>{"\"s-1\""});
}

TEST_CASE("runs begin on the executor that was given, which nobody needs to run at the end") {
  boost::asio::io_context context;
  std::vector<std::thread::id> ran;
  Receiver bob([&](DeferredFrame frame) {
    ran.push_back(std::this_thread::get_id());
    Receiver::commitAtOnce(std::move(frame));
  });
  bob.inbound.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(context.get_executor());
  bob.open();
  bob.post({outbound("s", 1)});
  bob.until([&] {
    context.restart();
    context.poll();
    return bob.manager->getStats().inbox == 0;
  });
  CHECK(ran == std::vector<std::thread::id>{std::this_thread::get_id()});
  bob.post({outbound("s", 2)});
  bob.handler.reset();
  CHECK(bob.manager->getStats().inbox == 1);
}

TEST_CASE("a run is asked to stop at its deadline, however rare the polls are") {
  boost::asio::io_context context;
  std::optional<DeferredFrame> kept;
  Receiver bob([&](DeferredFrame frame) { kept.emplace(std::move(frame)); });
  bob.manager.reset();
  bob.options.pollInterval = std::chrono::hours(1);
  bob.options.sharedPollInterval = std::chrono::hours(1);
  bob.manager.emplace(OutboxManager::open(bob.dir.file("bob.db"), bob.options));
  bob.inbound.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(context.get_executor());
  bob.inbound.deferred.timeout = std::chrono::seconds(10);
  bob.open();
  bob.post({outbound("s", 1)});
  bob.roundTrips();
  context.poll();
  REQUIRE(kept);
  CHECK_FALSE(kept->stopRequested());
  bob.clock->advance(std::chrono::seconds(10));
  context.restart();
  context.poll();
  CHECK(kept->stopRequested());
  bob.handler.reset();
  kept.reset();
}

TEST_CASE("a handler's end frees the frames that it had claimed, and leaves nothing to do on the executor") {
  boost::asio::io_context context;
  const auto runReady = [&context] {
    context.restart();
    return context.poll();
  };
  std::optional<DeferredFrame> kept;
  Receiver bob([&](DeferredFrame frame) {
    if (frame.frame().session == "kept") {
      kept.emplace(std::move(frame));
    } else {
      frame.finish(HandlerResult::notNow());
    }
  });
  bob.inbound.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(context.get_executor());
  bob.inbound.deferred.timeout = std::chrono::hours(1);
  bob.inbound.deferred.retry.delays = {std::chrono::minutes(10)};
  bob.open();
  bob.post({outbound("kept", 1), outbound("s", 1)});
  bob.until([&] {
    runReady();
    return kept && bob.reader->execAndGet("SELECT max(retry_count) FROM ackbox_inbox").getInt() == 1;
  });
  bob.roundTrips();
  runReady();
  // The store's thread is held up, so that the claim shares its commit with another enqueue; and again when that is
  // committed, until the end has begun: the claim has its row by then, but has not been reported.
  Frame frame;
  frame.peer = "alice";
  frame.type = "test.event";
  std::promise<void> isHeldUp;
  std::promise<void> goesOn;
  bob.manager->enqueueThen(frame, [&](const std::error_code&, const EnqueueReceipt&) {
    isHeldUp.set_value();
    goesOn.get_future().wait();
  });
  isHeldUp.get_future().wait();
  bob.manager->enqueueThen(frame, [&](const std::error_code&, const EnqueueReceipt&) {
    while (!kept->stopRequested()) {
      std::this_thread::yield();
    }
  });
  bob.clock->advance(std::chrono::minutes(10));
  runReady();
  goesOn.set_value();
  bob.until([&] { return bob.reader->execAndGet("SELECT sum(starts) FROM ackbox_inbox").getInt() == 3; });
  bob.handler.reset();
  bob.roundTrips();
  CHECK(bob.manager->getStats().inbox == 2);
  CHECK(bob.reader->execAndGet("SELECT count(*) FROM ackbox_inbox WHERE owner_id<>0").getInt() == 0);
  runReady();
  bob.clock->advance(std::chrono::hours(2));
  CHECK(runReady() == 0);
  kept.reset();
}

TEST_CASE("a frame outside any session may be deferred, and is known by its id meanwhile") {
  Gate gate;
  Receiver bob(behind(gate));
  bob.open();
  const auto post = [&] {
    return testing::answerTo(*bob.handler,
                             {"application/cloudevents+json",
                              R"({"specversion":"1.0","id":"e1","source":"urn:x","type":"slow","data":7})", "w"});
  };
  CHECK(post().status == 202);
  CHECK(json::parse(post().body)["results"][0]["duplicate"] == true);
  gate.open();
  bob.untilEmpty();
  CHECK(post().status == 200);
  CHECK(bob.effects() == std::vector<std::string>{"7"});
  // Its sender is no peer of ours, so nobody is told.
  CHECK(bob.events().empty());
}

// The first found by the power cut harness: its sender could redrive the message as often as it liked.
TEST_CASE("P3: a deferred frame outside any session that was rejected is taken anew when it is redriven") {
  bool merciful = false;
  Receiver bob([&](DeferredFrame frame) {
    frame.commit([&, frame](InboundTransaction& transaction) {
      return merciful ? write(transaction, frame.frame().data) : HandlerResult::reject("no such order");
    });
  });
  bob.open();
  OutboundFrame frame = outbound("", 0);
  frame.enqueuedAt = WallTime(std::chrono::milliseconds(7));
  CHECK(bob.ask({frame})["results"][0]["outcome"] == "defer");
  bob.untilEmpty();
  merciful = true;
  frame.enqueuedAt += std::chrono::milliseconds(1);
  CHECK(bob.ask({frame})["results"][0] == json{{"id", frame.messageId}, {"outcome", "defer"}});
  bob.untilEmpty();
  CHECK(bob.effects() == std::vector<std::string>{frame.data});
  CHECK(bob.ask({frame})["results"][0]["outcome"] == "ack");
  // Also as it was before, and as it may be redriven for want of that answer.
  frame.enqueuedAt -= std::chrono::milliseconds(1);
  CHECK(bob.ask({frame})["results"][0]["outcome"] == "ack");
  frame.enqueuedAt += std::chrono::hours(1);
  CHECK(bob.ask({frame})["results"][0]["outcome"] == "ack");
  CHECK(bob.effects().size() == 1);
  CHECK(OutboxReader(*bob.manager).verify().clean());
}

TEST_CASE("P3: a deferred frame outside any session that was rejected or given up is not run again by a repetition") {
  int runs = 0;
  HandlerResult answer = HandlerResult::reject("no such order");
  Receiver bob([&](DeferredFrame frame) {
    ++runs;
    frame.finish(answer);
  });
  std::string code = "rejected";
  SUBCASE("rejected") {}
  SUBCASE("given up") {
    answer = HandlerResult::notNow("paper jam");
    bob.inbound.deferred.retry.maxRetries = 0;
    code = "retry-budget";
  }
  bob.open();
  OutboundFrame frame = outbound("", 0);
  frame.enqueuedAt = WallTime(std::chrono::hours(7));
  CHECK(bob.ask({frame})["results"][0]["outcome"] == "defer");
  bob.untilEmpty();
  for (int repeats = 0; repeats < 5; ++repeats) {
    const json word = bob.ask({frame})["results"][0];
    CHECK(word["outcome"] == "term");
    CHECK(word.value("duplicate", false));
    CHECK(word.value("code", "rejected") == code);
    bob.untilEmpty();
  }
  CHECK(runs == 1);
  const OutboxReader reader(*bob.manager);
  const auto ended = reader.findInbox("urn:agent:alice", frame.messageId);
  REQUIRE(ended);
  CHECK(ended->reason == code);
  CHECK(ended->sequence == 0);
  // A request that comes late, of before a redrive, runs nothing either.
  frame.enqueuedAt += std::chrono::milliseconds(1);
  CHECK(bob.ask({frame})["results"][0]["outcome"] == "defer");
  bob.untilEmpty();
  CHECK(runs == 2);
  frame.enqueuedAt -= std::chrono::milliseconds(1);
  CHECK(bob.ask({frame})["results"][0]["outcome"] == "term");
  CHECK(runs == 2);
  // Each refusal says which enqueue it is about.
  const std::vector<json> events = bob.events();
  REQUIRE(events.size() == 2);
  CHECK(events[0]["time"] == "1970-01-01T07:00:00.000Z");
  CHECK(events[1]["time"] == "1970-01-01T07:00:00.001Z");
  CHECK(OutboxReader(*bob.manager).verify().clean());
}

TEST_CASE("P3: what is kept of a refused frame outside any session goes with its time, and it is then taken anew") {
  int runs = 0;
  Receiver bob([&](DeferredFrame frame) {
    ++runs;
    frame.finish(HandlerResult::reject("no such order"));
  });
  bob.inbound.processedRetention = std::chrono::hours(1);
  bob.inbound.processedRetentionMax = std::chrono::hours(1);
  bob.open();
  OutboundFrame frame = outbound("", 0);
  frame.enqueuedAt = WallTime(std::chrono::hours(7));
  bob.post({frame});
  bob.untilEmpty();
  bob.clock->advance(std::chrono::hours(2));
  OutboundFrame other = outbound("", 0, "quick");
  other.messageId = "other";
  // Marks that are over go with the next one that is made.
  bob.post({other});
  CHECK(bob.ask({frame})["results"][0]["outcome"] == "defer");
  bob.untilEmpty();
  CHECK(runs == 2);
  CHECK(bob.ask({frame})["results"][0]["outcome"] == "term");
  CHECK(OutboxReader(*bob.manager).verify().clean());
}

TEST_CASE("onGap tells which numbers a session passed over, after the commit") {
  Receiver bob;
  std::vector<InboundGap> gaps;
  bob.inbound.onGap = [&](const InboundGap& gap) { gaps.push_back(gap); };
  bob.open();
  bob.post({outbound("s", 1, "quick")});
  OutboundFrame late = outbound("s", 5, "quick");
  late.previousSequence = 1;
  bob.post({late});
  bob.handler.reset();
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].source == "urn:agent:alice");
  CHECK(gaps[0].session == "s");
  CHECK(gaps[0].firstMissing == 2);
  CHECK(gaps[0].lastMissing == 4);
}

TEST_CASE("onGap tells of a single missing number") {
  Receiver bob;
  std::vector<InboundGap> gaps;
  bob.inbound.onGap = [&](const InboundGap& gap) { gaps.push_back(gap); };
  bob.open();
  OutboundFrame second = outbound("s", 2, "quick");
  second.previousSequence = 0;
  bob.post({second});
  bob.handler.reset();
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].firstMissing == 1);
  CHECK(gaps[0].lastMissing == 1);
}

TEST_CASE("onGap tells of a gap once, also where another frame of the request makes its transaction begin anew") {
  Receiver bob;
  int gaps = 0;
  bob.inbound.onGap = [&](const InboundGap&) { ++gaps; };
  bob.handler.emplace(
      *bob.manager,
      [](const InboundFrame& frame, InboundTransaction& transaction) {
        if (frame.type == "ends") {
          transaction.database().exec("ROLLBACK");
        }
        return HandlerResult::ack();
      },
      bob.inbound);
  OutboundFrame passing = outbound("s", 3, "quick");
  passing.previousSequence = 0;
  const json results = bob.ask({passing, outbound("t", 1, "ends")})["results"];
  CHECK(results[0]["outcome"] == "ack");
  CHECK(results[1]["outcome"] == "nack");
  // The events of the request's commit come after its answer, and before the next commit.
  static_cast<void>(bob.manager->ack("nobody's"));
  CHECK(gaps == 1);
}

TEST_CASE("what a deferred handler throws is kept for the operator of its file, and its sender does not get it") {
  Receiver bob([](DeferredFrame frame) {
    if (frame.frame().data == "\"s-1\"") {
      throw std::runtime_error("no \x1b[31mprinter");
    }
    if (frame.frame().data == "\"t-1\"") {
      frame.finish(HandlerResult::notNow("paper jam"));
    } else {
      // The last handle goes away.
    }
  });
  bob.inbound.deferred.retry.delays = {std::chrono::minutes(10)};
  bob.inbound.deferred.retry.maxRetries = 1;
  bob.open();
  bob.post({outbound("s", 1)});
  bob.post({outbound("t", 1)});
  bob.post({outbound("u", 1)});
  const OutboxReader reader(*bob.manager);
  const auto inBackoff = [&] { return reader.inbox({.state = InboxState::backoff}).frames.size(); };
  bob.until([&] { return inBackoff() == 3; });
  CHECK(reader.findInbox("urn:agent:alice", "s-1")->lastError == "no \x1b[31mprinter");
  CHECK(reader.findInbox("urn:agent:alice", "t-1")->lastError == "paper jam");
  CHECK(reader.findInbox("urn:agent:alice", "u-1")->lastError == "the handler ended without an answer");
  CHECK(reader.explainInbox("urn:agent:alice", "t-1")->reasons.front().blockReason == BlockReason::backoff);
  CHECK(reader.explainInbox("urn:agent:alice", "t-1")->reasons.front().detail == "paper jam");
  bob.untilEmpty(std::chrono::seconds(1));
  for (const json& event : bob.events()) {
    CHECK(event.dump().find("printer") == std::string::npos);
  }
  CHECK(reader.findInbox("urn:agent:alice", "s-1")->state == InboxState::ended);
  CHECK(reader.findInbox("urn:agent:alice", "s-1")->reason == "retry-budget");
  CHECK(reader.verify().clean());
}

TEST_CASE("an operator's retry ends the backoff of a frame in a running process, without charged runs") {
  std::atomic<int> runs = 0;
  std::atomic<std::uint32_t> charged = 99;
  Receiver bob([&](DeferredFrame frame) {
    if (++runs == 1) {
      throw std::runtime_error("once");
    }
    charged = frame.retryCount();
    Receiver::commitAtOnce(std::move(frame));
  });
  bob.inbound.deferred.retry.delays = {std::chrono::hours(10)};
  bob.open();
  bob.post({outbound("s", 1)});
  const OutboxReader reader(*bob.manager);
  bob.until([&] { return reader.inbox({.state = InboxState::backoff}).frames.size() == 1; });
  // Of another process.
  OutboxManager other = OutboxManager::open(bob.dir.file("bob.db"), bob.options);
  const InboxReceipt receipt = OutboxOperator(other).retryInbox("urn:agent:alice", "s-1");
  CHECK(receipt.done());
  CHECK(receipt.state == InboxState::backoff);
  CHECK(receipt.sequence == 1);
  const WallTime before = bob.clock->wallNow();
  bob.untilEmpty(std::chrono::milliseconds(10));
  CHECK(bob.clock->wallNow() - before < std::chrono::hours(1));
  CHECK(charged == 0);
  CHECK(bob.effects().size() == 1);
  CHECK(OutboxOperator(other).retryInbox("urn:agent:alice", "s-1").state == InboxState::ended);
  CHECK(OutboxOperator(other).retryInbox("urn:agent:alice", "x").refusal == Errc::unknownMessage);
}

TEST_CASE("an operator's discard ends a frame as a term to its sender; not while its handler runs") {
  Gate gate;
  std::atomic<bool> fails = true;
  Receiver bob([&](DeferredFrame frame) {
    if (frame.frame().session == "busy") {
      gate.pass();
    } else if (fails.exchange(false)) {
      throw std::runtime_error("stuck");
    }
    Receiver::commitAtOnce(std::move(frame));
  });
  bob.inbound.deferred.retry.delays = {std::chrono::hours(10)};
  bob.open();
  bob.post({outbound("s", 1)});
  const OutboxReader reader(*bob.manager);
  bob.until([&] { return reader.inbox({.state = InboxState::backoff}).frames.size() == 1; });
  bob.post({outbound("s", 2), outbound("busy", 1)});
  gate.await(1);
  const InboxExplanation behind = *reader.explainInbox("urn:agent:alice", "s-2");
  REQUIRE(behind.reasons.size() == 2);
  CHECK(behind.reasons[0].blockReason == BlockReason::behind);
  CHECK(behind.reasons[0].sequence == 1);
  CHECK(behind.reasons[1].blockReason == BlockReason::backoff);
  CHECK(behind.sentence.find("it waits behind sequence 1, which failed once, last stuck; sequence 1 runs again in ") !=
        std::string::npos);
  const InboxExplanation busy = *reader.explainInbox("urn:agent:alice", "busy-1");
  REQUIRE(busy.reasons.size() == 1);
  CHECK(busy.reasons[0].blockReason == BlockReason::running);
  CHECK(busy.reasons[0].processId == getpid());
  CHECK(busy.reasons[0].since == bob.clock->wallNow());

  OutboxManager other = OutboxManager::open(bob.dir.file("bob.db"), bob.options);
  OutboxOperator outbox(other);
  CHECK(outbox.discardInbox("urn:agent:alice", "busy-1").refusal == Errc::invalidTransition);
  CHECK(outbox.discardInbox("urn:agent:alice", "busy-1").state == InboxState::running);
  CHECK(outbox.discardInbox({.session = "busy"}) == 0);
  CHECK_THROWS_AS(outbox.discardInbox("urn:agent:alice", "s-1", ""), Error);
  CHECK(outbox.discardInbox("urn:agent:alice", "s-1", "by-hand").done());
  // The next one of its session goes on.
  bob.until([&] { return bob.effects().size() == 1; }, std::chrono::milliseconds(10));
  CHECK(bob.effects()[0] == "\"s-2\"");
  REQUIRE(!bob.events().empty());
  CHECK(bob.events()[0]["id"] == "s-1");
  CHECK(bob.events()[0]["outcome"] == "term");
  CHECK(bob.events()[0]["code"] == "by-hand");
  CHECK(bob.ask({outbound("s", 1)})["results"][0]["code"] == "by-hand");
  const InboxExplanation ended = *reader.explainInbox("urn:agent:alice", "s-1");
  REQUIRE(ended.reasons.size() == 2);
  CHECK(ended.reasons[0].blockReason == BlockReason::refused);
  CHECK(ended.reasons[1].blockReason == BlockReason::ackEventsWait);
  CHECK(ended.reasons[1].detail == "alice");
  gate.open();
  bob.untilEmpty(std::chrono::milliseconds(10));
  CHECK(reader.verify().clean());
  // Without the handler nobody works on what comes.
  bob.handler.reset();
  CHECK(bob.reader->execAndGet("SELECT sum(deferred_handlers) FROM ackbox_owners").getInt() == 0);
}

}  // namespace
}  // namespace ackbox::inbound_deferred_test
