// Goal: a simulation says what happened in it, event by event, as far as it is asked to.
// Method: two agents, faults one at a time, and the lines that must be there.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/stats.hpp"
#include "ackbox/testing/simulation.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing::trace_test {
namespace {

using namespace std::chrono_literals;

struct Agent {
  OutboxManager outbox;
  std::optional<InboundHandler> inbox = {};
};

class Stage {
public:
  explicit Stage(std::size_t linesMax) : world_(1) {
    if (linesMax > 0) {
      world_.startTrace(linesMax);
    }
    world_.add("bank", [this](SimulatedProcess& process) {
      const auto bank = std::make_shared<Agent>(
          Agent{OutboxManager::open(directory_.file("bank.db"), process.options({.agent = "urn:agent:bank"}))});
      bank->inbox.emplace(
          bank->outbox, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); },
          InboundOptions{.allowAnonymous = true});
      process.listen(*bank->inbox);
      return bank;
    });
    world_.add("alice", [this](SimulatedProcess& process) {
      const auto alice = std::make_shared<Agent>(
          Agent{OutboxManager::open(directory_.file("alice.db"), process.options({.peers = {{.url = "sim://bank"}}}))});
      alice->outbox.setSender(process.sender());
      alice->outbox.runThen(process.executor(), [](std::error_code) {});
      alice_ = &alice->outbox;
      return alice;
    });
    world_.start("bank");
    world_.start("alice");
  }

  void send(const std::string& id) {
    say(id, "1");
    world_.runFor(10s);
  }
  void say(const std::string& id, const std::string& data) {
    alice_->enqueue({.session = "s", .type = "t", .data = data, .id = id});
  }
  [[nodiscard]] Stats stats() const { return alice_->getStats(); }
  Simulation& world() { return world_; }

  void checkHas(const char* event) {
    CHECK_MESSAGE(world_.trace().find(event) != std::string::npos, event << " is not in\n" << world_.trace());
  }

  /// The line before that of `event` must end with `before`.
  void checkFollows(const char* event, const char* before) {
    const std::string trace = world_.trace();
    const std::size_t line = trace.rfind('\n', trace.find(event));
    CHECK_MESSAGE(trace.substr(0, line).ends_with(before), event << " does not follow " << before << " in\n" << trace);
  }

private:
  const TempDir directory_;
  Simulation world_;
  OutboxManager* alice_ = nullptr;
};

}  // namespace

TEST_CASE("requests with their frames, answers, starts and commits are events") {
  Stage stage(1'000);
  stage.send("m1");
  stage.checkHas("0.000 s  bank              starts");
  stage.checkHas("alice -> bank     request 1: m1(s#1)");
  stage.checkHas("alice -> bank     request 1 arrives");
  stage.checkHas("bank              commits");
  stage.checkHas("bank -> alice     answer 1: m1 ack");
}

TEST_CASE("only a transaction that changed rows and was tried is an event") {
  Stage stage(1'000);
  stage.world().runFor(1min);
  stage.world().kill("alice");
  const std::string trace = stage.world().trace();
  CHECK_MESSAGE(trace.find("rolls back") == std::string::npos, trace);
  CHECK_MESSAGE(trace.ends_with("is killed\n"), trace);
}

TEST_CASE("faults are events") {
  Stage stage(1'000);
  stage.world().network().setFaults({.answerLost = 1, .duplicated = 1});
  stage.send("m1");
  stage.checkHas("request 1 arrives a second time");
  stage.checkHas("was handled, and its answer is lost");
  stage.world().network().setFaults({.requestLost = 1});
  stage.send("m2");
  stage.checkHas("is lost");
  stage.world().network().heal();
  stage.world().network().block("bank", "alice");
  stage.checkHas("bank -> alice     is blocked");
  stage.world().network().heal();
  stage.world().failDisk("bank", DiskFault::full, 0, 1);
  stage.send("m3");
  stage.world().runFor(1min);
  stage.checkFollows("the disk is full: a write fails", "bank              commits");
  stage.world().killAtWrite("bank", 0);
  stage.send("m4");
  stage.checkHas("bank              is killed at a disk write");
  stage.world().kill("alice");
  stage.checkHas("alice             is killed\n");
}

TEST_CASE("P3: what is too long on the way goes in smaller requests, and what is too long alone is given up") {
  Stage stage(1'000);
  stage.world().network().setFaults({.bodyBytesMax = 1'000});
  // The first answer grants credit for more.
  stage.send("m0");
  for (int count = 1; count <= 8; ++count) {
    stage.say("m" + std::to_string(count), "1");
  }
  stage.world().runFor(1min);
  stage.checkHas("HTTP 413");
  CHECK(stage.stats().acked == 9);
  stage.say("long", '"' + std::string(2'000, 'x') + '"');
  stage.send("last");
  CHECK(stage.stats().acked == 10);
  CHECK(stage.stats().failed == 1);
}

TEST_CASE("what a process writes by a connection of its own is an event") {
  const TempDir directory;
  Simulation world(1);
  world.startTrace();
  world.add("clerk", [&](SimulatedProcess& process) {
    const std::string vfs = process.options({}).vfs;
    SQLite::Database own(directory.file("own.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 0, vfs);
    own.exec("CREATE TABLE entries(x); BEGIN; INSERT INTO entries VALUES(1); COMMIT; BEGIN; SELECT 1; COMMIT");
    own.exec("BEGIN; INSERT INTO entries VALUES(2); ROLLBACK; BEGIN; SAVEPOINT s; ROLLBACK TO s; ROLLBACK");
    own.exec("DELETE FROM entries");
    return nullptr;
  });
  world.start("clerk");
  CHECK(world.trace() ==
        "     0.000 s  clerk             starts\n"
        "     0.000 s  clerk             commits\n"
        "     0.000 s  clerk             rolls back: the transaction failed\n"
        "     0.000 s  clerk             rolls back what the handler wrote\n"
        "     0.000 s  clerk             writes outside a transaction: DELETE FROM entries\n");
}

TEST_CASE("a note of the test is an event") {
  Stage stage(10);
  stage.world().note("alice", "makes a wish");
  stage.checkHas("alice             makes a wish\n");
}

TEST_CASE("the oldest events go when there are too many, and their number stays") {
  Stage stage(3);
  for (int event = 0; event < 10; ++event) {
    stage.world().note("alice", std::to_string(event));
  }
  const std::string trace = stage.world().trace();
  CHECK(std::count(trace.begin(), trace.end(), '\n') == 4);
  CHECK(trace.starts_with("("));
  CHECK(trace.find(" earlier events are left out)\n") != std::string::npos);
  stage.checkHas("9\n");
}

TEST_CASE("nothing is kept unless it is asked for") {
  Stage stage(0);
  stage.send("m1");
  stage.world().note("alice", "makes a wish");
  CHECK(stage.world().trace().empty());
}

}  // namespace ackbox::testing::trace_test
