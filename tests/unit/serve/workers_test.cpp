// Goal: what waits for the file, and changes of many messages, have limits, a share for each caller, and turns (P12).
// Method: the only thread is held while others queue; then the order in which they ran is looked at.

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <future>
#include <latch>
#include <string>
#include <vector>

#include "ackbox/error.hpp"
#include "serve/api/bulk_changes.hpp"
#include "serve/api/turns.hpp"
#include "serve/api/workers.hpp"
#include "serve/http/answer.hpp"

namespace ackbox::serve::workers_test {
namespace {

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("P12: callers take turns, and what one has put in keeps its order") {
  Turns<int> turns;
  for (const int item : {1, 2, 3}) {
    turns.push("a", item);
  }
  turns.push("b", 10);
  CHECK(turns.of("a") == 3);
  CHECK(turns.pop() == 1);
  CHECK(turns.pop() == 10);
  turns.push("b", 11);
  CHECK(turns.pop() == 2);
  CHECK(turns.pop() == 11);
  CHECK(turns.pop() == 3);
  CHECK(turns.of("a") == 0);
}

TEST_CASE("Threads that wait for the file refuse what would wait too long, and answer what is thrown") {
  Workers workers(1, 1);
  std::promise<void> begun;
  std::promise<void> go;
  std::promise<int> first;
  workers.answer(
      {},
      [&] {
        begun.set_value();
        go.get_future().wait();
        return jsonAnswer(200, "1");
      },
      [&](const Response& response) { first.set_value(response.status); });
  begun.get_future().wait();
  std::promise<int> second;
  workers.answer(
      {}, []() -> Response { throw Error(Errc::diskFull, "x"); },
      [&](const Response& response) { second.set_value(response.status); });
  int third = 0;
  workers.answer(
      {}, [] { return jsonAnswer(200, "1"); }, [&](const Response& response) { third = response.status; });
  CHECK(third == 503);
  go.set_value();
  CHECK(first.get_future().get() == 200);
  CHECK(second.get_future().get() == 507);
}

TEST_CASE("P12: a token whose requests wait for the outbox leaves places to others, and delays them by one turn") {
  Workers workers(1, 4);
  std::promise<void> begun;
  std::promise<void> go;
  Texts ran;
  Texts refused;
  workers.run({}, [&] {
    begun.set_value();
    go.get_future().wait();
  });
  begun.get_future().wait();
  const auto ask = [&](const std::string& sharer, const std::string& name) {
    workers.answer(
        sharer,
        [&ran, name] {
          ran.push_back(name);
          return jsonAnswer(200, "1");
        },
        [&refused, name](const Response& response) {
          if (response.status == 503) {
            refused.push_back(name);
          }
        });
  };
  for (const char* const name : {"x1", "x2", "x3"}) {
    ask("x", name);
  }
  ask("y", "y1");
  ask("y", "y2");
  // Without a token, as `GET /readyz`.
  ask({}, "ready");
  CHECK(refused == Texts{"x3", "y2"});
  go.set_value();
  workers.join();
  CHECK(ran == Texts{"x1", "y1", "ready", "x2"});
}

TEST_CASE("P12: a token that begins changes of many messages leaves places to others, and delays them by one turn") {
  boost::asio::io_context context;
  const auto changes = std::make_shared<BulkChanges>(context.get_executor(), systemClock());
  std::promise<void> begun;
  std::promise<void> go;
  Texts ran;
  const auto begin = [&](const std::string& sharer, const std::string& name, BulkChanges::Change change) {
    if (!changes->hasRoom(sharer)) {
      return false;
    }
    changes->begin({name, sharer, sharer}, std::move(change), std::chrono::seconds(0), [](const BulkChange&) {});
    return true;
  };
  std::latch left(8);
  const auto note = [&](const std::string& name) {
    return [&, name](BulkOutcome&) {
      ran.push_back(name);
      left.count_down();
    };
  };
  REQUIRE(begin("x", "x1", [&](BulkOutcome&) {
    begun.set_value();
    go.get_future().wait();
  }));
  begun.get_future().wait();
  int own = 1;
  while (begin("x", "more", note("x"))) {
    ++own;
  }
  CHECK(own == 8);
  CHECK(begin("y", "y1", note("y")));
  go.set_value();
  left.wait();
  changes->close();
  context.run();
  CHECK(ran[0] == "x");
  CHECK(ran[1] == "y");
}

TEST_CASE("P12: a token that makes many changes pushes out its own, and no other token's") {
  boost::asio::io_context context;
  const auto changes = std::make_shared<BulkChanges>(context.get_executor(), systemClock());
  const auto make = [&](const std::string& sharer) {
    std::promise<std::uint64_t> ended;
    changes->begin(
        {"messages:resend", sharer, sharer}, [](BulkOutcome&) {}, std::chrono::seconds(30),
        [&](const BulkChange& change) { ended.set_value(change.id); });
    return ended.get_future().get();
  };
  const std::uint64_t modest = make("modest");
  const std::uint64_t first = make("greedy");
  std::uint64_t last = 0;
  for (int more = 0; more < 200; ++more) {
    last = make("greedy");
  }
  CHECK(changes->find(modest));
  CHECK(changes->find(last - 98));
  CHECK_FALSE(changes->find(last - 99));
  CHECK_FALSE(changes->find(first));
  // Each of two has half.
  for (int more = 0; more < 100; ++more) {
    last = make("modest");
  }
  CHECK(changes->find(last - 48));
  CHECK_FALSE(changes->find(last - 52));
  changes->close();
  context.run();
}

TEST_CASE("P13: a change that fails midway says what it has changed") {
  boost::asio::io_context context;
  const auto changes = std::make_shared<BulkChanges>(context.get_executor(), systemClock());
  std::promise<BulkChange> ended;
  changes->begin(
      {"messages:mark-failed", "x", "x"},
      [](BulkOutcome& outcome) {
        outcome.changed = 28;
        throw Error(Errc::diskFull, "nothing was stored");
      },
      std::chrono::seconds(30), [&](const BulkChange& change) { ended.set_value(change); });
  const BulkChange change = ended.get_future().get();
  CHECK((change.state == BulkChange::State::failed));
  CHECK(change.changed == 28);
  CHECK(change.error.starts_with("28 were changed, then: nothing was stored"));
  CHECK(change.problem.status == 507);
  CHECK(changes->find(change.id)->changed == 28);
  changes->close();
  context.run();
}

}  // namespace ackbox::serve::workers_test
