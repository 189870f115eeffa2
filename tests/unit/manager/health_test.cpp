// Goal: a manager tells when its outbox stops being well and when it is well again, once each way.
// Method: the watch alone, fed with figures; then a run on the test's own executor, with time by hand.

#include "ackbox/health.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/inbound_handler.hpp"
#include "manager/run/health_watch.hpp"
#include "support/inbound_request.hpp"
#include "support/manual_clock.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::health_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ManualClock;
using testing::ScriptedSender;
using testing::TempDir;

constexpr WallTime kStart{milliseconds(1'700'000'000'000)};

std::string shortly(const std::vector<HealthEvent>& events) {
  std::string text;
  for (const HealthEvent& event : events) {
    text += (event.raised ? "+" : "-") + std::string(toString(event.check)) + "(" + event.peer + ")" +
            std::to_string(event.value) + " ";
  }
  return text;
}

std::string look(manager::HealthWatch& watch, const store::Vitals& vitals, WallTime now = kStart) {
  manager::HealthWatch::Events events;
  watch.look(vitals, now, events);
  return shortly(events);
}

TEST_CASE("row 24: a threshold tells at its value, and again only after four fifths of it") {
  manager::HealthWatch watch({.failed = 10, .pending = 5});
  CHECK(watch.on());
  CHECK(look(watch, {.live = 4, .failed = 9, .oldestAt = {}}).empty());
  CHECK(look(watch, {.live = 4, .failed = 10, .oldestAt = {}}) == "+failed()10 ");
  for (const std::uint64_t swaying : {11U, 9U, 10U, 8U, 12U}) {
    CHECK(look(watch, {.live = 4, .failed = swaying, .oldestAt = {}}).empty());
  }
  CHECK(look(watch, {.live = 5, .failed = 7, .oldestAt = {}}) == "-failed()7 +pending()5 ");
  CHECK(look(watch, {.live = 0, .failed = 0, .oldestAt = {}}) == "-pending()0 ");
}

TEST_CASE("row 24: a threshold of one is well at none; of nothing, never tells") {
  manager::HealthWatch watch({.failed = 1});
  CHECK(look(watch, {.live = 1'000'000, .failed = 1, .oldestAt = kStart - seconds(9'999)}) == "+failed()1 ");
  CHECK(look(watch, {}) == "-failed()0 ");
  CHECK_FALSE(manager::HealthWatch({}).on());
}

TEST_CASE("row 13: the age of the oldest tells; where nobody has looked, nothing is said") {
  manager::HealthWatch watch({.oldestAge = seconds(10)});
  CHECK(look(watch, {.live = 1, .failed = 0, .oldestAt = kStart - seconds(10)}) == "+oldestAge()10000 ");
  CHECK(look(watch, {.live = 1, .failed = 0, .oldestAt = {}}).empty());
  CHECK(look(watch, {.live = 1, .failed = 0, .oldestAt = kStart + seconds(5)}) == "-oldestAge()0 ");
  CHECK(look(watch, {.live = 1, .failed = 0, .oldestAt = kStart - seconds(11)}) == "+oldestAge()11000 ");
  CHECK(look(watch, {}) == "-oldestAge()0 ");
}

TEST_CASE("row 24: a peer tells once it has been down for long, and when it answers") {
  manager::HealthWatch watch({.peerDownFor = seconds(30)});
  manager::HealthWatch::Events events;
  watch.peerChanged("bob", true, kStart, kStart, events);
  watch.peerChanged("eve", true, kStart, kStart, events);
  watch.peerChanged("eve", false, kStart, kStart + seconds(29), events);
  CHECK(events.empty());
  CHECK(look(watch, {}, kStart + seconds(29)).empty());
  CHECK(look(watch, {}, kStart + seconds(30)) == "+peerDown(bob)30000 ");
  CHECK(look(watch, {}, kStart + seconds(60)).empty());
  watch.peerChanged("bob", true, kStart, kStart + seconds(70), events);
  CHECK(events.empty());
  watch.peerChanged("bob", false, {}, kStart + seconds(80), events);
  CHECK(shortly(events) == "-peerDown(bob)0 ");
}

// A run whose every step is the test's: the store and the sender work on this executor.
struct Run {
  explicit Run(const HealthThresholds& health) {
    options.clock = clock;
    options.random = seededRandom(1);
    options.health = health;
    options.storeExecutor = [this](std::function<void()> work) { boost::asio::post(context, std::move(work)); };
    manager = std::make_unique<OutboxManager>(OutboxManager::open(dir.file("agent.db"), options));
    manager->setSender(sender);
    told = manager->onHealth([this](const HealthEvent& event) { events.push_back(event); });
    manager->runThen(context.get_executor(), [](std::error_code) {});
    settle();
  }
  ~Run() {
    manager->stop();
    settle();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void settle() {
    context.restart();
    context.poll();
  }
  void pass(milliseconds time) {
    for (; time.count() > 0; time -= seconds(1)) {
      clock->advance(seconds(1));
      settle();
    }
  }
  std::string taken() {
    const std::string text = shortly(events);
    events.clear();
    return text;
  }
  void enqueue(const std::string& id) {
    Frame frame;
    frame.session = "s";
    frame.type = "test";
    frame.id = id;
    manager->enqueue(frame);
    settle();
  }
  void answer(RequestOutcome outcome) {
    sender->setScript([outcome](const SendRequest&) {
      SendReport report;
      report.outcome = outcome;
      return report;
    });
  }

  TempDir dir;
  boost::asio::io_context context;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<ScriptedSender> sender = std::make_shared<ScriptedSender>(
      [](const SendRequest& request) { return ScriptedSender::all(request, Outcome::term, "no"); });
  OutboxOptions options;
  std::unique_ptr<OutboxManager> manager;
  std::vector<HealthEvent> events;
  Subscription told;
};

TEST_CASE("row 20, row 24: dead letters alert at the threshold, and a discard ends the alert") {
  Run run({.failed = 2});
  run.enqueue("a");
  CHECK(run.taken().empty());
  run.enqueue("b");
  CHECK(run.taken() == "+failed()2 ");
  run.enqueue("c");
  run.pass(seconds(5));
  CHECK(run.taken().empty());
  OutboxOperator(*run.manager).discardFailed({});
  run.pass(seconds(1));
  CHECK(run.taken() == "-failed()0 ");
}

TEST_CASE("row 24: a peer that stays away and a backlog that grows old alert, and its return ends both") {
  Run run({.oldestAge = seconds(20), .peerDownFor = seconds(10)});
  run.answer(RequestOutcome::peerUnavailable);
  run.enqueue("a");
  run.pass(seconds(9));
  CHECK(run.taken().empty());
  run.pass(seconds(2));
  CHECK(run.taken().substr(0, 15) == "+peerDown(defau");
  run.pass(seconds(15));
  CHECK(run.taken().substr(0, 11) == "+oldestAge(");
  run.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); });
  run.pass(seconds(300));
  CHECK(run.taken() == "-peerDown(default)0 -oldestAge()0 ");
}

/// Writes `from` over the file that the run has open, as the command line's `.restore` does.
void writeOver(const std::filesystem::path& file, const std::filesystem::path& from) {
  SQLite::Database source(from.string(), SQLite::OPEN_READONLY);
  SQLite::Database target(file.string(), SQLite::OPEN_READWRITE);
  SQLite::Backup backup(target, source);
  while (backup.executeStep(-1) != SQLITE_DONE) {
  }
}

template <typename Call>
std::string thrownBy(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() == Errc::databaseReplaced);
    return error.what();
  }
  return {};
}

TEST_CASE("P1: nothing is stored in a file that was deleted, or whose name was given to another one") {
  for (const bool isReplaced : {false, true}) {
    CAPTURE(isReplaced);
    Run run({});
    run.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); });
    run.enqueue("a");
    const std::filesystem::path file = run.dir.file("agent.db");
    if (isReplaced) {
      const std::filesystem::path other = run.dir.file("other.db");
      SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("VACUUM INTO '" + other.string() + "'");
      std::filesystem::rename(other, file);
    } else {
      std::filesystem::remove(file);
    }
    CHECK(thrownBy([&] { run.enqueue("b"); }).find("restart the process") != std::string::npos);
  }
}

TEST_CASE("P10: a file that is replaced under a run is told once, with the remedy, and by every call of the process") {
  Run run({});
  run.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); });
  run.enqueue("a");
  const std::filesystem::path file = run.dir.file("agent.db");
  const std::filesystem::path older = run.dir.file("older.db");
  const std::filesystem::path newer = run.dir.file("newer.db");
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("VACUUM INTO '" + older.string() + "'");
  run.enqueue("b");
  REQUIRE(run.manager->getStats().acked == 2);
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("VACUUM INTO '" + newer.string() + "'");
  run.taken();
  writeOver(file, older);
  run.pass(seconds(120));
  REQUIRE(run.events.size() == 1);
  CHECK(run.events[0].check == HealthCheck::process);
  CHECK(run.events[0].raised);
  CHECK(run.events[0].sentence.find("restart the process") != std::string::npos);
  CHECK(thrownBy([&] { run.enqueue("c"); }).find("restart the process") != std::string::npos);
  CHECK(thrownBy([&] { (void)run.manager->getStats(); }).find("restart the process") != std::string::npos);
  CHECK(thrownBy([&] { (void)OutboxReader(*run.manager).verify(); }).find("restart the process") != std::string::npos);
  writeOver(file, newer);
  run.pass(seconds(120));
  REQUIRE(run.events.size() == 2);
  CHECK_FALSE(run.events[1].raised);
  CHECK(run.manager->getStats().acked == 2);
}

TEST_CASE("P13: a replaced file counts as such until it is back, also where a run goes on reading the old one") {
  Run run({});
  run.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); });
  run.enqueue("a");
  run.taken();
  const std::filesystem::path file = run.dir.file("agent.db");
  const std::filesystem::path kept = run.dir.file("kept.db");
  std::filesystem::rename(file, kept);
  std::filesystem::copy_file(kept, file);
  CHECK_FALSE(thrownBy([&] { run.enqueue("b"); }).empty());
  run.pass(seconds(120));
  CHECK_FALSE(thrownBy([&] { (void)run.manager->getStats(); }).empty());
  CHECK_FALSE(thrownBy([&] { run.enqueue("c"); }).empty());
  REQUIRE(run.events.size() == 1);
  CHECK(run.events[0].raised);
  std::filesystem::rename(kept, file);
  run.enqueue("d");
  REQUIRE(run.events.size() == 2);
  CHECK_FALSE(run.events[1].raised);
}

TEST_CASE("P10: an agent that only enqueues is told once that its file was replaced, and when it has it again") {
  const TempDir dir;
  const std::filesystem::path file = dir.file("agent.db");
  const std::filesystem::path kept = dir.file("kept.db");
  OutboxManager manager = OutboxManager::open(file);
  std::mutex mutex;
  std::vector<HealthEvent> events;
  const Subscription told = manager.onHealth([&](const HealthEvent& event) {
    const std::scoped_lock lock(mutex);
    events.push_back(event);
  });
  const auto fails = [&](WhenFull whenFull) {
    std::promise<std::error_code> end;
    manager.enqueueThen({.session = "s", .type = "test"}, whenFull,
                        [&](std::error_code error, const EnqueueReceipt&) { end.set_value(error); });
    return end.get_future().get() == Errc::databaseReplaced;
  };
  for (int way = 0; way < 3; ++way) {
    CAPTURE(way);
    events.clear();
    std::filesystem::rename(file, kept);
    std::filesystem::copy_file(kept, file);
    // Without a commit.
    CHECK(thrownBy([&] { (void)manager.getStats(); }).find("restart the process") != std::string::npos);
    CHECK(events.empty());
    for (int time = 0; time < 2; ++time) {
      if (way == 0) {
        CHECK(thrownBy([&] { manager.enqueue("s", "test", "1"); }).find("restart the process") != std::string::npos);
      } else {
        CHECK(fails(way == 1 ? WhenFull::refuse : WhenFull::wait));
      }
    }
    REQUIRE(events.size() == 1);
    CHECK(events[0].check == HealthCheck::process);
    CHECK(events[0].raised);
    std::filesystem::rename(kept, file);
    CHECK(manager.enqueue("s", "test", "1").accepted());
    REQUIRE(events.size() == 2);
    CHECK_FALSE(events[1].raised);
    CHECK(manager.getStats().pending == static_cast<std::uint64_t>(way) + 1);
  }
}

TEST_CASE("P10: a run that cannot read what is stored tells it once, goes on trying, and tells when it can again") {
  Run run({});
  run.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); });
  const auto rename = [&](const std::string& from, const std::string& to) {
    SQLite::Database(run.dir.file("agent.db").string(), SQLite::OPEN_READWRITE)
        .exec("PRAGMA legacy_alter_table=ON; ALTER TABLE " + from + " RENAME TO " + to);
  };
  const auto expectTrouble = [&] {
    run.pass(seconds(60));
    REQUIRE(run.events.size() == 1);
    CHECK(run.events[0].check == HealthCheck::process);
    CHECK(run.events[0].raised);
    CHECK(run.events[0].sentence.find("cannot be read") != std::string::npos);
    rename("elsewhere", "ackbox_sessions");
    run.pass(seconds(10));
    REQUIRE(run.events.size() == 2);
    CHECK_FALSE(run.events[1].raised);
    run.events.clear();
  };
  SUBCASE("when it begins") {
    run.manager->stop();
    run.settle();
    run.enqueue("a");
    rename("ackbox_sessions", "elsewhere");
    run.manager->runThen(run.context.get_executor(), [](std::error_code) {});
    expectTrouble();
  }
  SUBCASE("later") {
    // Of a session that the run does not know.
    OutboxManager other = OutboxManager::open(run.dir.file("agent.db"), run.options);
    Frame frame;
    frame.session = "other";
    frame.type = "test";
    other.enqueue(frame);
    rename("ackbox_sessions", "elsewhere");
    expectTrouble();
  }
  CHECK(run.manager->getStats().pending == 0);
  CHECK(run.manager->getStats().acked >= 1);
}

TEST_CASE("P10: a receiver whose file is replaced tells its own operator, once, and answers 503 meanwhile") {
  TempDir dir;
  OutboxOptions options;
  options.clock = std::make_shared<ManualClock>();
  const std::filesystem::path file = dir.file("agent.db");
  OutboxManager manager = OutboxManager::open(file, options);
  std::vector<HealthEvent> events;
  const Subscription told = manager.onHealth([&](const HealthEvent& event) { events.push_back(event); });
  InboundOptions inbound;
  inbound.allowAnonymous = true;
  InboundHandler handler(
      manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); }, inbound);
  const auto post = [&](const std::string& id) {
    return testing::answerTo(handler,
                             {"application/cloudevents+json",
                              R"({"specversion":"1.0","source":"urn:a","type":"t","data":1,"id":")" + id + "\"}", id})
        .status;
  };
  Frame frame;
  frame.session = "s";
  frame.type = "t";
  manager.enqueue(frame);
  const std::filesystem::path older = dir.file("older.db");
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("VACUUM INTO '" + older.string() + "'");
  manager.enqueue(frame);
  CHECK(post("m1") == 200);
  writeOver(file, older);
  for (int request = 0; request < 3; ++request) {
    CHECK(post("m2") == 503);
  }
  // The request is answered before its end is told of, on the store's thread.
  CHECK(thrownBy([&] { manager.enqueue(frame); }).find("restart the process") != std::string::npos);
  REQUIRE(events.size() == 1);
  CHECK(events[0].check == HealthCheck::process);
  CHECK(events[0].sentence.find("restart the process") != std::string::npos);
  CHECK(thrownBy([&] { (void)manager.getStats(); }).find("restart the process") != std::string::npos);
}

}  // namespace
}  // namespace ackbox::health_test
