// Goal: P2, an enqueue inside the caller's transaction commits or rolls back with it, and is found and sent.
// Method: the caller's own connection and table on the manager's file.

#include "ackbox/outbox_writer.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "ackbox/async.hpp"
#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::outbox_writer_test {
namespace {

using testing::ScriptedSender;

struct Caller {
  Caller() {
    manager.setSender(sender);
    connection.exec("CREATE TABLE orders(id INTEGER PRIMARY KEY)");
  }
  static Frame frame() {
    Frame made;
    made.session = "orders";
    made.type = "order.placed";
    return made;
  }
  int orders() { return connection.execAndGet("SELECT count(*) FROM orders").getInt(); }

  testing::TempDir dir;
  std::shared_ptr<ScriptedSender> sender = ScriptedSender::always(Outcome::ack);
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"));
  // It waits for the write lock, as applications do: a run that begins writes too.
  SQLite::Database connection{dir.file("agent.db").string(), SQLite::OPEN_READWRITE, 5'000};
};

TEST_CASE("P2: a commit keeps both the business row and the frame") {
  Caller caller;
  OutboxWriter writer(caller.manager, caller.connection);
  caller.connection.exec("BEGIN IMMEDIATE; INSERT INTO orders DEFAULT VALUES");
  CHECK(writer.enqueue(Caller::frame()).sequence == 1);
  CHECK(writer.enqueue(Caller::frame()).sequence == 2);
  CHECK(caller.manager.getStats().pending == 0);
  caller.connection.exec("COMMIT");
  CHECK(caller.manager.getStats().pending == 2);
  CHECK(caller.manager.drainOnce().acked == 2);
  CHECK(caller.orders() == 1);
}

TEST_CASE("P2: an enqueue that is interrupted at any step is whole or not there, whatever the caller does then") {
  struct Interrupt {
    static int onStep(void* left) { return --*static_cast<int*>(left) <= 0 ? 1 : 0; }
  };
  Caller caller;
  OutboxWriter writer(caller.manager, caller.connection);
  int left = 0;
  std::uint64_t kept = 0;
  for (int step = 1; left <= 0; step += 5) {
    left = step;
    caller.connection.exec("BEGIN IMMEDIATE; INSERT INTO orders DEFAULT VALUES");
    sqlite3_progress_handler(caller.connection.getHandle(), 1, &Interrupt::onStep, &left);
    Frame frame = Caller::frame();
    frame.session = "of step " + std::to_string(step);
    try {
      static_cast<void>(writer.enqueue(frame));
      ++kept;
    } catch (const Error&) {
      CHECK(left <= 0);
    }
    sqlite3_progress_handler(caller.connection.getHandle(), 0, nullptr, nullptr);
    if (sqlite3_get_autocommit(caller.connection.getHandle()) == 0) {
      caller.connection.exec("COMMIT");
    }
    CHECK(caller.manager.getStats().pending == kept);
    CHECK(OutboxReader(caller.manager).verify().clean());
  }
  CHECK(kept == 1);
}

TEST_CASE("P2: a rollback keeps neither, and the sequence has no hole") {
  Caller caller;
  OutboxWriter writer(caller.manager, caller.connection);
  caller.connection.exec("BEGIN IMMEDIATE; INSERT INTO orders DEFAULT VALUES");
  CHECK(writer.enqueue(Caller::frame()).status == EnqueueStatus::stored);
  caller.connection.exec("ROLLBACK");
  CHECK(caller.orders() == 0);
  CHECK(caller.manager.getStats().pending == 0);
  CHECK(caller.manager.enqueue(Caller::frame()).sequence == 1);
  CHECK(caller.manager.drainOnce().acked == 1);
}

TEST_CASE("row 15: a commit wakes the running manager at once, without a poll") {
  Caller caller;
  OutboxWriter writer(caller.manager, caller.connection);
  caller.manager.start();
  caller.connection.exec("BEGIN IMMEDIATE");
  writer.enqueue(Caller::frame());
  caller.connection.exec("COMMIT");
  caller.sender->waitForFrames(1);
  caller.manager.stop();
  CHECK(caller.manager.getStats().acked == 1);
}

TEST_CASE("row 15: a commit wakes a run on the caller's executor, which watches no file, without a poll") {
  const testing::TempDir dir;
  OutboxOptions options;
  options.pollInterval = std::chrono::hours(1);
  options.sharedPollInterval = std::chrono::hours(1);
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"), options);
  manager.setSender(ScriptedSender::always(Outcome::ack));
  SQLite::Database connection(dir.file("agent.db").string(), SQLite::OPEN_READWRITE);
  OutboxWriter writer(manager, connection);
  boost::asio::io_context context;
  int acked = 0;
  const Subscription subscription = manager.onAcked([&](const AckedEvent&) {
    if (++acked == 2) {
      manager.stop();
      return;
    }
    // The run has read what there was, as its own message is through.
    boost::asio::post(context, [&] {
      connection.exec("BEGIN IMMEDIATE");
      writer.enqueue(Caller::frame());
      connection.exec("COMMIT");
    });
  });
  // Its handler keeps the context at work until the run has ended.
  manager.asyncRun(context.get_executor(), boost::asio::bind_executor(context, [](const std::error_code&) {}));
  REQUIRE(manager.enqueue(Caller::frame()).isNew());
  context.run();
  CHECK(acked == 2);
}

TEST_CASE("row 15: what others commit is found by the poll, beside the hot path, and each message goes once") {
  Caller caller;
  caller.connection.setBusyTimeout(60'000);
  OutboxWriter writer(caller.manager, caller.connection);
  OutboxManager other = OutboxManager::open(caller.dir.file("agent.db"));
  caller.manager.start();
  constexpr std::size_t kRounds = 50;
  for (std::size_t round = 0; round < kRounds; ++round) {
    caller.connection.exec("BEGIN IMMEDIATE");
    writer.enqueue(Caller::frame());
    caller.connection.exec("COMMIT");
    other.enqueue(Caller::frame());
  }
  caller.sender->waitForFrames(2 * kRounds);
  caller.manager.stop();
  const std::vector<OutboundFrame> frames = caller.sender->frames();
  REQUIRE(frames.size() == 2 * kRounds);
  for (std::size_t index = 0; index < frames.size(); ++index) {
    CHECK(frames[index].sequence == index + 1);
  }
  CHECK(caller.manager.getStats().acked == 2 * kRounds);
}

TEST_CASE("outside a transaction the writer refuses, and a refused frame leaves the transaction as it was") {
  Caller caller;
  OutboxWriter writer(caller.manager, caller.connection);
  CHECK_THROWS_WITH_AS(writer.enqueue(Caller::frame()), doctest::Contains("transaction"), Error);
  caller.connection.exec("BEGIN IMMEDIATE; INSERT INTO orders DEFAULT VALUES");
  Frame bad = Caller::frame();
  bad.peer = "nobody";
  CHECK(writer.enqueue(bad).status == EnqueueStatus::unknownPeer);
  bad = Caller::frame();
  bad.data = "{";
  CHECK(writer.enqueue(bad).status == EnqueueStatus::invalidFrame);
  caller.connection.exec("COMMIT");
  CHECK(caller.orders() == 1);
}

TEST_CASE("the manager's own enqueues and the writer's share one numbering") {
  Caller caller;
  OutboxWriter writer(caller.manager, caller.connection);
  for (std::uint64_t round = 0; round < 10; ++round) {
    CHECK(caller.manager.enqueue(Caller::frame()).sequence == 2 * round + 1);
    caller.connection.exec("BEGIN IMMEDIATE");
    CHECK(writer.enqueue(Caller::frame()).sequence == 2 * round + 2);
    caller.connection.exec("COMMIT");
  }
  CHECK(caller.manager.drainOnce().acked == 20);
  CHECK(caller.manager.getStats().enqueued == 20);
}

TEST_CASE("P1: a connection that would not survive a power cut is raised to FULL, or refused inside a transaction") {
  Caller caller;
  caller.connection.exec("PRAGMA synchronous=NORMAL");
  caller.connection.exec("BEGIN");
  CHECK_THROWS_WITH_AS(OutboxWriter(caller.manager, caller.connection), doctest::Contains("synchronous"), Error);
  caller.connection.exec("COMMIT");
  const OutboxWriter writer(caller.manager, caller.connection);
  CHECK(caller.connection.execAndGet("PRAGMA synchronous").getInt() == 2);
}

TEST_CASE("a file without the outbox's tables is refused by name") {
  Caller caller;
  SQLite::Database other(":memory:", SQLite::OPEN_READWRITE);
  CHECK_THROWS_WITH_AS(OutboxWriter(caller.manager, other), doctest::Contains("tables are missing"), Error);
}

}  // namespace
}  // namespace ackbox::outbox_writer_test
