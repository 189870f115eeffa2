// Goal: with an executor for the store, the manager needs no thread: everything runs where its owner runs it.
// Method: one io_context in the test's own thread, the count of this process's threads, and the order of what runs.

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "ackbox/error.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "protocol/inbound_port.hpp"
#include "store/writer.hpp"
#include "support/manual_clock.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::store_executor_test {
namespace {

using testing::ManualClock;
using testing::ScriptedSender;
using testing::TempDir;

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

const InboundRequest kEvent = {"application/cloudevents+json",
                               R"({"specversion":"1.0","id":"1","source":"urn:x","type":"t","data":{}})", "1"};

struct Inline {
  Inline() {
    OutboxOptions options;
    options.clock = clock;
    options.random = seededRandom(1);
    options.storeExecutor = [this](std::function<void()> work) { boost::asio::post(io, std::move(work)); };
    manager.emplace(OutboxManager::open(dir.file("agent.db"), options));
    manager->setSender(ScriptedSender::always(Outcome::ack));
  }

  TempDir dir;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  boost::asio::io_context io;
  std::optional<OutboxManager> manager;
};

}  // namespace

TEST_CASE("row 19: with a store executor, a whole life of a message starts no thread") {
  const auto before = threads();
  Inline world;
  bool ended = false;
  world.manager->runThen(world.io.get_executor(), [&](const std::error_code& error) { ended = !error; });
  CHECK(world.manager->enqueue("s", "test.event", "{}").isNew());
  while (world.manager->getStats().acked == 0) {
    REQUIRE(world.io.run_one() == 1);
  }
  CHECK(threads() == before);
  world.manager->stop();
  while (!ended) {
    REQUIRE(world.io.run_one() == 1);
  }
}

TEST_CASE("row 19: a pass and an enqueue without a wait work on the store executor too") {
  Inline world;
  EnqueueReceipt receipt;
  Frame frame;
  frame.type = "test.event";
  world.manager->enqueueThen(frame, [&](const std::error_code&, EnqueueReceipt told) { receipt = std::move(told); });
  CHECK(receipt.messageId.empty());
  world.io.run();
  CHECK(receipt.isNew());
  CHECK(world.manager->drainOnce().acked == 1);
}

TEST_CASE("row 19: start() on a store executor: a lone message goes its way where it is and without a wait") {
  const auto running = threads();
  Inline world;
  world.manager->start();
  world.io.poll();
  const store::Writer::Totals before = store::Writer::totals();
  for (std::uint64_t count = 1; count <= 3; ++count) {
    CHECK(world.manager->enqueue("s", "test.event", "{}").isNew());
    // No time passes, so that no poll finds it.
    world.io.restart();
    world.io.poll();
    CHECK(world.manager->getStats().acked == count);
  }
  const store::Writer::Totals after = store::Writer::totals();
  // The enqueue, the claim and the settle of each.
  CHECK(after.inCallers - before.inCallers == 9);
  CHECK(after.queued == before.queued);
  CHECK(threads() == running);
  CHECK_THROWS_AS((void)world.manager->drainOnce(), Error);
  CHECK(world.manager->stop().settled == 0);
  world.io.restart();
  world.io.poll();
  CHECK(world.manager->drainOnce().claimed == 0);
}

TEST_CASE("what a handler enqueues apart from its own lone commit is stored after it on a store executor") {
  Inline world;
  EnqueueReceipt aside;
  InboundHandler inbox(*world.manager,
                       [&](const InboundFrame&, InboundTransaction&) {
                         Frame frame;
                         frame.type = "test.event";
                         world.manager->enqueueThen(
                             frame, [&](const std::error_code&, EnqueueReceipt told) { aside = std::move(told); });
                         return HandlerResult::ack();
                       },
                       {.allowAnonymous = true});
  int status = 0;
  protocol::InboundPort::of(inbox).handle(
      kEvent, [&](const InboundResponse& response) { status = response.status; }, protocol::HandlerThread::caller,
      protocol::RequestForm::cloudEvents);
  // Where it came.
  CHECK(status == 200);
  CHECK(aside.messageId.empty());
  world.io.run();
  CHECK_FALSE(aside.messageId.empty());
}

TEST_CASE("with a store executor, a handler that blocks on its own store is refused as on a thread") {
  Inline world;
  std::error_code refused;
  InboundHandler inbox(*world.manager,
                       [&](const InboundFrame&, InboundTransaction&) {
                         try {
                           (void)world.manager->enqueue("s", "test.event", "{}");
                         } catch (const Error& error) {
                           refused = error.code();
                         }
                         return HandlerResult::ack();
                       },
                       {.allowAnonymous = true});
  int status = 0;
  inbox.asyncHandle(kEvent, [&](const InboundResponse& response) { status = response.status; });
  world.io.run();
  CHECK(status == 200);
  CHECK(refused == Errc::wouldDeadlock);
}

TEST_CASE("row 19: with a store executor, requests that are refused are counted without a thread") {
  Inline world;
  InboundOptions known;
  known.peers = {{.agents = {"urn:agent:alice"}, .byCertificate = true}};
  InboundHandler inbox(
      *world.manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); }, known);
  const auto before = threads();
  for (int number = 0; number < 3; ++number) {
    int status = 0;
    inbox.asyncHandle(kEvent, [&](const InboundResponse& response) { status = response.status; });
    world.io.restart();
    world.io.poll();
    CHECK(status == 401);
  }
  CHECK(threads() == before);
  CHECK(world.manager->getStats().refusedUnauthenticated == 3);
}

TEST_CASE("with a store executor, more jobs than one group takes are all committed") {
  Inline world;
  int stored = 0;
  Frame frame;
  frame.type = "test.event";
  for (int index = 0; index < 3'000; ++index) {
    world.manager->enqueueThen(frame, [&](const std::error_code& error, const EnqueueReceipt& receipt) {
      stored += !error && receipt.isNew() ? 1 : 0;
    });
  }
  world.io.run();
  CHECK(stored == 3'000);
}

TEST_CASE("with a store executor, a manager that ends leaves no job without its answer") {
  Inline world;
  std::error_code told = Errc::ioError;
  Frame frame;
  frame.type = "test.event";
  world.manager->enqueueThen(frame, [&](const std::error_code& error, const EnqueueReceipt&) { told = error; });
  world.manager.reset();
  CHECK(!told);
  // What was posted for it finds nobody.
  world.io.run();
}

}  // namespace ackbox::store_executor_test
