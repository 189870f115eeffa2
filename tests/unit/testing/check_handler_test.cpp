// Goal: a failing world is repeated exactly, made smaller and described; a sound handler passes; what cannot be run is
// refused.
// Method: handlers of a few lines. That real defects are found is tests/handlers' part.

#include "ackbox/testing/check_handler.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "ackbox/outbox_manager.hpp"

namespace ackbox::testing::check_handler_test {
namespace {

constexpr const char* kEffects = "SELECT frame FROM effects ORDER BY at";

CheckOptions optionsOf(std::uint64_t worlds) {
  CheckOptions options;
  options.schema = "CREATE TABLE effects(at INTEGER PRIMARY KEY, frame TEXT)";
  options.worlds = worlds;
  return options;
}

void write(SQLite::Database& database, const std::string& frame) {
  SQLite::Statement add(database, "INSERT INTO effects(frame) VALUES(?)");
  add.bind(1, frame);
  add.exec();
}

HandlerResult writeAndAck(const InboundFrame& frame, InboundTransaction& transaction) {
  write(transaction.database(), frame.id);
  return HandlerResult::ack(R"("done")");
}

CheckedHandler sound(HandlerHost&) {
  return writeAndAck;
}

/// Writes each frame's effect once in a life, whether the first time is kept or not.
CheckedHandler remembering(HandlerHost&) {
  return [last = std::string()](const InboundFrame& frame, InboundTransaction& transaction) mutable {
    if (std::exchange(last, frame.id) != frame.id) {
      write(transaction.database(), frame.id);
    }
    return HandlerResult::ack();
  };
}

std::string eachOnce(SQLite::Database& database, const Ledger& ledger) {
  return ledger.eachOnceInOrder(database, kEffects);
}

std::size_t linesOf(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("a sound handler passes, and the worlds were full of faults") {
  const CheckReport report = checkHandler(sound, eachOnce, optionsOf(20));
  INFO(report.text());
  CHECK(report.passed());
  CHECK(report.worlds == 20);
  CHECK(report.frames == 20 * 24);
  CHECK(report.calls > report.frames / 2);
  CHECK(report.undone > 10);
  CHECK(report.kills > 10);
  CHECK(report.diskFaults > 10);
  CHECK(report.trace.empty());
}

TEST_CASE("a failing world is made small, and the report repeats it") {
  const CheckReport report = checkHandler(remembering, eachOnce, optionsOf(50));
  REQUIRE_FALSE(report.passed());
  CHECK(report.failedSeeds.size() == 1);
  // One frame, and what undoes its effect.
  CHECK_MESSAGE(linesOf(report.plan) <= 3, report.plan);
  // What happens to a call stays with its frame when other frames are left out.
  const std::size_t call = report.plan.find("call with m");
  REQUIRE_MESSAGE(call != std::string::npos, report.plan);
  const std::string frame = report.plan.substr(call + 10, report.plan.find(':', call) - call - 10);
  CHECK_MESSAGE(report.plan.find("enqueues " + frame + " ") != std::string::npos, report.plan);
  CHECK(report.fault.find("took effect 0 times") != std::string::npos);
  CHECK(report.text().find(".replay = \"" + report.replay + "\"") != std::string::npos);
  CheckOptions again = optionsOf(1);
  again.replay = report.replay;
  const CheckReport repeated = checkHandler(remembering, eachOnce, again);
  CHECK(repeated.worlds == 1);
  CHECK(repeated.fault == report.fault);
  CHECK(repeated.trace == report.trace);
  CHECK(repeated.plan == report.plan);
  CHECK(checkHandler(sound, eachOnce, again).passed());
}

TEST_CASE("the trace of a failing world shows the conversation, and not more of it than is asked for") {
  CheckOptions options = optionsOf(50);
  const CheckReport report = checkHandler(remembering, eachOnce, options);
  for (const char* event : {"has enqueued m", "-> bank", "the handler is called with m", "bank -> ", "commits"}) {
    CHECK_MESSAGE(report.trace.find(event) != std::string::npos, event << " is not in\n" << report.trace);
  }
  options.replay = report.replay;
  options.traceLinesMax = 5;
  CHECK(linesOf(checkHandler(remembering, eachOnce, options).trace) <= 6);
}

TEST_CASE("the same seed gives the same run") {
  const auto never = [](SQLite::Database&, const Ledger&) { return std::string("never right\n"); };
  CheckOptions options = optionsOf(3);
  options.minimizeRunsMax = 0;
  options.traceLinesMax = 10'000;
  for (options.seed = 1; options.seed <= 5; ++options.seed) {
    const CheckReport first = checkHandler(sound, never, options);
    const CheckReport second = checkHandler(sound, never, options);
    CHECK(first.trace == second.trace);
    CHECK(first.requests == second.requests);
  }
}

TEST_CASE("an invariant that never holds is reduced to an empty world") {
  const auto never = [](SQLite::Database&, const Ledger&) { return std::string("never right\n"); };
  const CheckReport report = checkHandler(sound, never, optionsOf(1));
  CHECK(report.plan.empty());
  CheckOptions again = optionsOf(1);
  again.replay = report.replay;
  CHECK(checkHandler(sound, never, again).fault == "never right\n");
}

TEST_CASE("the ledger knows what was sent, what took effect and what was answered") {
  std::uint64_t results = 0;
  const auto look = [&](SQLite::Database& database, const Ledger& ledger) {
    std::string wrong;
    std::uint64_t numbers = 0;
    for (const SentFrame& sent : ledger.sent()) {
      wrong += sent.number == ++numbers ? "" : "numbers\n";
      wrong += sent.frame.id == "m" + std::to_string(numbers) ? "" : "ids\n";
      wrong += sent.frame.data == "\"" + std::to_string(numbers) + "\"" ? "" : "data\n";
      wrong += sent.frame.session.empty() == (sent.sequence == 0) ? "" : sent.frame.id + " has no sequence\n";
      wrong += sent.state == MessageState::acked || sent.reason == "expired" ? "" : sent.frame.id + " is open\n";
      results += sent.result.empty() ? 0U : 1U;
    }
    wrong += numbers == 24 ? "" : "not all frames were sent\n";
    // A third of what is taken is refused.
    for (const SentFrame& applied : ledger.applied()) {
      wrong += applied.state == MessageState::acked || applied.frame.expiresAt ? "" : "applied and not acknowledged\n";
    }
    return wrong + ledger.eachOnceInOrder(database, kEffects);
  };
  CheckOptions options = optionsOf(10);
  options.frame = [](std::uint64_t number, Random&) {
    return Frame{.type = "test.named", .data = "\"" + std::to_string(number) + "\""};
  };
  const CheckReport report = checkHandler(sound, look, options);
  INFO(report.text());
  CHECK(report.passed());
  CHECK(results > 100);
}

TEST_CASE("a handler that refuses is right when it has no effect") {
  const auto picky = [](HandlerHost&) -> CheckedHandler {
    return [](const InboundFrame& frame, InboundTransaction& transaction) {
      write(transaction.database(), frame.id);
      return frame.data == "3" ? HandlerResult::reject("three") : HandlerResult::ack();
    };
  };
  const auto look = [](SQLite::Database& database, const Ledger& ledger) {
    const SentFrame& third = ledger.sent().at(2);
    const bool refused = third.state == MessageState::failed && (third.reason == "rejected" || third.frame.expiresAt);
    return (refused ? "" : "m3 is " + third.reason + "\n") + ledger.eachOnce(database, kEffects);
  };
  const CheckReport report = checkHandler(picky, look, optionsOf(5));
  CHECK_MESSAGE(report.passed(), report.text());
}

TEST_CASE("a handler that never takes a frame, and one that cannot start, are reported") {
  const auto fails = [](HandlerHost&) -> CheckedHandler { throw std::runtime_error("no licence"); };
  CheckOptions options = optionsOf(1);
  options.minimizeRunsMax = 0;
  const CheckReport failing = checkHandler(fails, eachOnce, options);
  CHECK(failing.fault.find("bank cannot start: no licence") != std::string::npos);
  const auto stuck = [](HandlerHost&) -> CheckedHandler {
    return {[](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); },
            [kept = std::make_shared<std::vector<DeferredFrame>>()](DeferredFrame frame) {
              frame.progress();
              kept->push_back(std::move(frame));
            }};
  };
  options.restMax = std::chrono::minutes(2);
  const CheckReport open = checkHandler(stuck, eachOnce, options);
  CHECK(open.fault.find("not everything was delivered") != std::string::npos);
}

TEST_CASE("worlds in which the handler is never called show nothing, and do not pass") {
  CheckOptions options = optionsOf(2);
  options.inbound.frameBytesMax = 1;
  options.frame = [](std::uint64_t, Random&) { return Frame{.type = "test.large", .data = "[1]"}; };
  const auto nothing = [](SQLite::Database&, const Ledger&) { return std::string(); };
  const CheckReport report = checkHandler(sound, nothing, options);
  CHECK(report.calls == 0);
  CHECK(report.failedSeeds.empty());
  CHECK_FALSE(report.passed());
  CHECK(report.text().find("never called") != std::string::npos);
}

TEST_CASE("what an invariant throws is a fault") {
  const auto throws = [](SQLite::Database&, const Ledger&) -> std::string { throw std::runtime_error("no balance"); };
  CHECK(checkHandler(sound, throws, optionsOf(1)).fault == "the invariant throws: no balance\n");
}

TEST_CASE("an invariant cannot change the file") {
  const auto writes = [](SQLite::Database& database, const Ledger&) {
    database.exec("DELETE FROM effects");
    return std::string();
  };
  CHECK(checkHandler(sound, writes, optionsOf(1)).fault.find("readonly") != std::string::npos);
}

TEST_CASE("sinks and senders receive what the handler enqueues") {
  const auto relays = [](HandlerHost&) -> CheckedHandler {
    return [](const InboundFrame& frame, InboundTransaction& transaction) {
      write(transaction.database(), frame.id);
      const Frame copy = {.peer = "archive", .type = "copy", .data = frame.data, .correlationId = frame.id};
      return transaction.enqueue(copy).accepted() ? HandlerResult::ack() : HandlerResult::notNow();
    };
  };
  const auto look = [](SQLite::Database& database, const Ledger& ledger) {
    std::string wrong = ledger.repliesEqualEffects(database, kEffects);
    for (const ReceivedReply& reply : ledger.replies()) {
      wrong += reply.to == "archive" && reply.type == "copy" ? "" : "a reply to " + reply.to + "\n";
    }
    return wrong;
  };
  CheckOptions options = optionsOf(10);
  options.sinks = {"archive"};
  const CheckReport report = checkHandler(relays, look, options);
  CHECK_MESSAGE(report.passed(), report.text());
}

TEST_CASE("options that cannot be are refused") {
  const auto refused = [](auto change) {
    CheckOptions options = optionsOf(1);
    change(options);
    CHECK_THROWS_AS(static_cast<void>(checkHandler(sound, eachOnce, options)), std::invalid_argument);
  };
  refused([](CheckOptions& options) { options.senders.clear(); });
  refused([](CheckOptions& options) { options.senders = {"bank"}; });
  refused([](CheckOptions& options) { options.sinks = {"a/b"}; });
  refused([](CheckOptions& options) { options.frames = 0; });
  refused([](CheckOptions& options) { options.sessions = 0; });
  refused([](CheckOptions& options) { options.failuresMax = 0; });
  refused([](CheckOptions& options) { options.worlds = 0; });
  refused([](CheckOptions& options) { options.unordered = 1.5; });
  refused([](CheckOptions& options) { options.expiring = -0.5; });
  refused([](CheckOptions& options) { options.replay = "every"; });
  refused([](CheckOptions& options) { options.replay = "1:100000"; });
  refused([](CheckOptions& options) { options.replay = "1:1;2"; });
  refused([](CheckOptions& options) { options.frame = [](std::uint64_t, Random&) { return Frame{.type = ""}; }; });
}

}  // namespace ackbox::testing::check_handler_test
