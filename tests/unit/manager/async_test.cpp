// Goal: the token-taking operations complete once, on the caller's executor, and a run may live on it.
// Method: futures, callbacks and a coroutine on an io_context of the test's.

#include "ackbox/async.hpp"

#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::async_test {
namespace {

using testing::ScriptedSender;

Frame event() {
  Frame frame;
  frame.type = "test.event";
  return frame;
}

struct Agent {
  Agent() { manager.setSender(sender); }
  testing::TempDir dir;
  std::shared_ptr<ScriptedSender> sender = ScriptedSender::always(Outcome::ack);
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"));
};

TEST_CASE("asyncEnqueue with a future") {
  Agent agent;
  CHECK(agent.manager.asyncEnqueue(event(), boost::asio::use_future).get().sequence == 1);
  Frame bad = event();
  bad.peer = "nobody";
  CHECK(agent.manager.asyncEnqueue(bad, boost::asio::use_future).get().status == EnqueueStatus::unknownPeer);
}

TEST_CASE("asyncEnqueue completes on the handler's executor, which waits for it") {
  Agent agent;
  boost::asio::io_context context;
  std::thread::id completedOn;
  agent.manager.asyncEnqueue(event(),
                             boost::asio::bind_executor(context, [&](boost::system::error_code error, EnqueueReceipt) {
                               CHECK_FALSE(error);
                               completedOn = std::this_thread::get_id();
                             }));
  context.run();
  CHECK(completedOn == std::this_thread::get_id());
}

TEST_CASE("a coroutine enqueues, the run on its executor delivers, and stop completes asyncRun") {
  Agent agent;
  boost::asio::io_context context;
  boost::system::error_code ended = Errc::noSender;
  agent.manager.asyncRun(context.get_executor(),
                         boost::asio::bind_executor(context, [&](boost::system::error_code error) { ended = error; }));
  Subscription subscription;
  boost::asio::co_spawn(
      context,
      [&]() -> boost::asio::awaitable<void> {
        subscription = agent.manager.onAcked([&](const AckedEvent&) { agent.manager.stop(); });
        const EnqueueReceipt receipt = co_await agent.manager.asyncEnqueue(event(), boost::asio::use_awaitable);
        CHECK(receipt.isNew());
      },
      boost::asio::detached);
  context.run();
  CHECK_FALSE(ended);
  CHECK(agent.manager.getStats().acked == 1);
}

TEST_CASE("asyncRun says why it cannot begin") {
  Agent agent;
  boost::asio::thread_pool pool(1);
  auto first = agent.manager.asyncRun(pool.get_executor(), boost::asio::use_future);
  CHECK_THROWS_AS(agent.manager.asyncRun(pool.get_executor(), boost::asio::use_future).get(), std::exception);
  agent.manager.stop();
  first.get();
  agent.manager.setSender(nullptr);
  CHECK_THROWS_AS(agent.manager.asyncRun(pool.get_executor(), boost::asio::use_future).get(), std::exception);
}

TEST_CASE("a stop on the caller's executor waits for nothing, also after a run on the manager's own thread") {
  Agent agent;
  std::promise<void> stopped;
  // In a callback, so that nobody has waited for that run's thread.
  Subscription subscription = agent.manager.onAcked([&](const AckedEvent&) {
    agent.manager.stop();
    stopped.set_value();
  });
  agent.manager.start();
  CHECK(agent.manager.enqueue(event()).isNew());
  stopped.get_future().wait();

  boost::asio::io_context context;
  std::optional<boost::system::error_code> ended;
  do {
    ended.reset();
    agent.manager.asyncRun(
        context.get_executor(),
        boost::asio::bind_executor(context, [&](boost::system::error_code error) { ended = error; }));
    context.restart();
    context.poll();
    // The run before is ending still.
  } while (ended == Errc::alreadyRunning);
  boost::asio::post(context, [&] { agent.manager.stop(); });
  context.restart();
  context.run();
  REQUIRE(ended);
  CHECK_FALSE(*ended);
}

TEST_CASE("a manager that ends while it runs on the caller's executor completes the run there") {
  boost::asio::io_context context;
  bool ended = false;
  {
    Agent agent;
    agent.manager.asyncRun(context.get_executor(),
                           boost::asio::bind_executor(context, [&](boost::system::error_code) { ended = true; }));
    context.poll();
  }
  context.run();
  CHECK(ended);
}

TEST_CASE("an executor may end as soon as its run has completed, while the manager lives on") {
  Agent agent;
  for (int round = 0; round < 50; ++round) {
    boost::asio::io_context context;
    const Subscription subscription = agent.manager.onAcked([&](const AckedEvent&) { agent.manager.stop(); });
    bool ended = false;
    agent.manager.asyncRun(context.get_executor(),
                           boost::asio::bind_executor(context, [&](boost::system::error_code) { ended = true; }));
    agent.manager.asyncEnqueue(
        event(), boost::asio::bind_executor(context, [](boost::system::error_code, const EnqueueReceipt&) {}));
    context.run();
    CHECK(ended);
  }
}

}  // namespace
}  // namespace ackbox::async_test
