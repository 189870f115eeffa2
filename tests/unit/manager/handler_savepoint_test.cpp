// Goal: what a handler enqueues and publishes shares the fate of the savepoint that the handler encloses it in (P2,
// P5), and a failing enqueue leaves nothing, though the handler goes on. Method: a handler that is a script; the
// messages that its agent sends afterwards, and `verify`.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/publication.hpp"
#include "support/inbound_request.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::handler_savepoint_test {
namespace {

using Texts = std::vector<std::string>;
using testing::ScriptedSender;

struct Stage : testing::OutboxStage {
  Stage() {
    CHECK(OutboxOperator(manager).subscribe({.name = "all", .peer = "carol"}));
    sender->setScript([this](const SendRequest& request) {
      for (const OutboundFrame& sent : request.frames) {
        sentBy[request.peer].push_back(sent.session + "#" + std::to_string(sent.sequence) + " " + sent.data);
      }
      return ScriptedSender::all(request, Outcome::ack);
    });
  }
  /// Has `work` done by a handler that acknowledges. Returns whether the frame was acknowledged.
  bool handle(const std::function<void(InboundTransaction&)>& work) {
    InboundHandler inbox(manager,
                         [&](const InboundFrame& /*frame*/, InboundTransaction& transaction) {
                           work(transaction);
                           return HandlerResult::ack();
                         },
                         {.allowAnonymous = true});
    const std::string session = "in" + std::to_string(++handled);
    const SendRequest request = testing::sendRequest({testing::outboundFrame(session, 1, "test.event", "7")});
    return testing::answerTo(inbox, testing::inboundRequest(request)).body.find("\"outcome\":\"ack\"") !=
           std::string::npos;
  }
  [[nodiscard]] bool isClean() const { return OutboxReader(manager).verify().clean(); }

  OutboxManager manager = open(options());
  std::map<std::string, Texts> sentBy;
  std::uint64_t handled = 0;

private:
  static OutboxOptions options() {
    OutboxOptions made;
    for (const char* name : {"bob", "carol"}) {
      made.peers.push_back({.name = name, .url = name});
    }
    return made;
  }
};

Frame frameOf(const std::string& session, int data) {
  Frame made = Stage::frame(session);
  made.peer = "bob";
  made.data = std::to_string(data);
  return made;
}

TEST_CASE("P2 P4 P5: what a handler enqueues in a savepoint of its own is undone with it") {
  Stage stage;
  const auto work = [](InboundTransaction& transaction) {
    const auto run = [&transaction](const char* sql) { testing::StagePlaces::run(transaction, sql); };
    CHECK(transaction.enqueue(frameOf("a", 1)).isNew());
    run("SAVEPOINT mine");
    CHECK(transaction.enqueue(frameOf("a", 2)).sequence == 2);
    CHECK(transaction.enqueue(frameOf("new", 3)).sequence == 1);
    CHECK(transaction.publish(frameOf("a", 4)).isNew());
    run("ROLLBACK TO mine; RELEASE mine");
    CHECK(transaction.enqueue(frameOf("a", 5)).sequence == 2);
    CHECK(transaction.enqueue(frameOf("new", 6)).sequence == 1);
    run("SAVEPOINT mine");
    CHECK(transaction.enqueue(frameOf("a", 7)).sequence == 3);
    run("RELEASE mine");
    CHECK(transaction.publish(frameOf("a", 8)).messages.at(0).sequence == 1);
  };
  CHECK(stage.handle(work));
  CHECK(stage.isClean());
  CHECK(stage.manager.getStats().pending == 5);
  CHECK(stage.manager.processAll().acked == 5);
  CHECK(stage.sentBy["bob"] == Texts{"a#1 1", "a#2 5", "a#3 7", "new#1 6"});
  CHECK(stage.sentBy["carol"] == Texts{"a#1 8"});
  CHECK(stage.isClean());
}

TEST_CASE("P2 P5: inner savepoints, the last enqueue, keys and superseded messages are undone alike") {
  Stage stage;
  Frame old = frameOf("a", 1);
  old.supersedeKey = "price";
  const auto work = [&old](InboundTransaction& transaction) {
    const auto run = [&transaction](const char* sql) { testing::StagePlaces::run(transaction, sql); };
    CHECK(transaction.enqueue(old).isNew());
    run("SAVEPOINT outer_one");
    CHECK(transaction.enqueue(frameOf("b", 2)).isNew());
    run("SAVEPOINT inner_one");
    Frame once = frameOf("b", 3);
    once.idempotencyKey = "once";
    CHECK(transaction.enqueue(once).isNew());
    Frame newer = old;
    newer.data = "4";
    CHECK(transaction.enqueue(newer).isNew());
    run("ROLLBACK TO inner_one; RELEASE outer_one; SAVEPOINT another");
    CHECK(transaction.enqueue(once).sequence == 2);
    run("ROLLBACK TO another");
  };
  CHECK(stage.handle(work));
  CHECK(stage.isClean());
  CHECK(stage.manager.getStats().superseded == 0);
  CHECK(stage.manager.processAll().acked == 2);
  CHECK(stage.sentBy["bob"] == Texts{"a#1 1", "b#1 2"});
}

TEST_CASE("P5: a savepoint that is undone behind 64 enqueues of a call is followed, or the frame fails") {
  for (const int before : {10, 63, 64, 65, 100}) {
    Stage stage;
    const auto work = [before](InboundTransaction& transaction) {
      for (int number = 1; number <= before; ++number) {
        CHECK(transaction.enqueue(frameOf("a", number)).isNew());
      }
      testing::StagePlaces::run(transaction, "SAVEPOINT mine");
      for (int number = 0; number < 100; ++number) {
        CHECK(transaction.enqueue(frameOf("a", number)).isNew());
      }
      testing::StagePlaces::run(transaction, "ROLLBACK TO mine");
    };
#ifdef ACKBOX_STAGE_POSTGRES
    const bool isFollowed = true;
#else
    const bool isFollowed = before < 64;
#endif
    CHECK(stage.handle(work) == isFollowed);
    CHECK(stage.isClean());
    CHECK(stage.manager.getStats().pending == (isFollowed ? static_cast<std::uint64_t>(before) : 0));
  }
}

// Steps and triggers of SQLite. In PostgreSQL, an enqueue that fails ends with the savepoint, or the frame, around it.
#ifndef ACKBOX_STAGE_POSTGRES
TEST_CASE("P5: an enqueue that fails leaves nothing, though its handler goes on") {
  Stage stage;
  SQLite::Database(stage.dir.file("agent.db").string(), SQLite::OPEN_READWRITE)
      .exec("CREATE TRIGGER broken BEFORE INSERT ON ackbox_idempotency_keys BEGIN SELECT raise(ABORT,'no'); END");
  Frame keyed = frameOf("new", 1);
  keyed.idempotencyKey = "once";
  const auto work = [&keyed](InboundTransaction& transaction) {
    CHECK_THROWS_AS(transaction.enqueue(keyed), Error);
    CHECK_THROWS_AS(transaction.publish(keyed), Error);
    CHECK(transaction.enqueue(frameOf("new", 2)).sequence == 1);
  };
  CHECK(stage.handle(work));
  CHECK(stage.isClean());
  CHECK(stage.manager.processAll().acked == 1);
  CHECK(stage.sentBy["bob"] == Texts{"new#1 2"});
}

TEST_CASE("P5: a handler that interrupts its enqueue at any step gets all of it or nothing") {
  Stage stage;
  struct Interrupt {
    static int onStep(void* left) { return --*static_cast<int*>(left) == 0 ? 1 : 0; }
  };
  bool isOver = false;
  for (int step = 1; !isOver; step += 7) {
    const auto work = [&](InboundTransaction& transaction) {
      sqlite3* const connection = transaction.database().getHandle();
      int left = step;
      sqlite3_progress_handler(connection, 1, &Interrupt::onStep, &left);
      bool isStored = false;
      try {
        isStored = transaction.enqueue(frameOf("s" + std::to_string(step), step)).isNew();
      } catch (const Error&) {
        CHECK(left <= 0);
      }
      sqlite3_progress_handler(connection, 0, nullptr, nullptr);
      isOver = left > 0;
      CHECK(isStored == isOver);
    };
    stage.handle(work);
    CHECK(stage.isClean());
    CHECK(stage.manager.getStats().pending == (isOver ? 1 : 0));
  }
}
#endif

}  // namespace
}  // namespace ackbox::handler_savepoint_test
