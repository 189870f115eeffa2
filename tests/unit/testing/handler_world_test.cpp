// Goal: each fault that a plan can name happens, and a sound handler is right in spite of it.
// Method: plans of one frame and one fault; the conversation must show the fault, and how often the handler was called.

#include "testing/handler_world.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <chrono>
#include <string>

namespace ackbox::testing::handler_world_test {
namespace {

using namespace std::chrono_literals;
using Kind = PlannedAccident::Kind;

HandlerResult writeAndReply(const InboundFrame& frame, InboundTransaction& transaction) {
  SQLite::Statement add(transaction.database(), "INSERT INTO effects VALUES(?)");
  add.bind(1, frame.id);
  add.exec();
  const Frame reply = {.peer = "alice", .type = "reply", .correlationId = frame.id};
  return transaction.enqueue(reply).accepted() ? HandlerResult::ack() : HandlerResult::notNow("no room");
}

CheckedHandler atOnce(HandlerHost&) {
  return writeAndReply;
}

CheckedHandler later(HandlerHost&) {
  return {[](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); },
          [](DeferredFrame frame) {
            const InboundFrame read = frame.frame();
            frame.commit([read](InboundTransaction& transaction) { return writeAndReply(read, transaction); });
          }};
}

/// What the world of frame m1 and `fault` comes to, with the frame at 10 ms.
HandlerWorldResult worldOf(const PlannedItem& fault, const HandlerFactory& factory = atOnce) {
  CheckOptions options;
  options.schema = "CREATE TABLE effects(frame TEXT)";
  options.senders = {"alice"};
  options.frames = 1;
  const HandlerInvariant invariant = [](SQLite::Database& database, const Ledger& ledger) {
    return ledger.eachOnce(database, "SELECT frame FROM effects") +
           ledger.repliesEqualEffects(database, "SELECT frame FROM effects");
  };
  HandlerPlan plan;
  plan.seed = 1;
  plan.items = {PlannedFrame{.at = 10ms, .sender = "alice", .number = 1, .session = "s1", .expiresAfter = {}}, fault};
  plan.kept = {true, true};
  HandlerWorldResult result = HandlerWorld(factory, invariant, options, plan, 1'000).run();
  CHECK_MESSAGE(result.fault.empty(), result.fault << result.trace);
  return result;
}

void checkShows(const HandlerWorldResult& result, const char* event) {
  CHECK_MESSAGE(result.trace.find(event) != std::string::npos, event << " is not in\n" << result.trace);
}

PlannedAccident accident(Kind kind) {
  return {.number = 1, .kind = kind, .write = 0};
}

}  // namespace

TEST_CASE("what happens to a call of the handler makes a second one") {
  for (const auto& [kind, event] : {std::pair(Kind::undo, "the check undoes what the handler wrote for m1"),
                                    std::pair(Kind::commitFull, "the disk is full: a write fails"),
                                    std::pair(Kind::commitBroken, "the disk is broken: a call fails"),
                                    std::pair(Kind::kill, "bank              is killed at a disk write"),
                                    std::pair(Kind::queueFull, "the handler answers nack to m1: no room")}) {
    const HandlerWorldResult result = worldOf(accident(kind));
    checkShows(result, event);
    CAPTURE(result.trace);
    CHECK(result.calls == 2);
  }
}

TEST_CASE("what happens to a deferred frame meets its commit") {
  for (const auto& [kind, event] : {std::pair(Kind::commitBroken, "the disk is broken: a call fails"),
                                    std::pair(Kind::kill, "bank              is killed at a disk write")}) {
    const HandlerWorldResult result = worldOf(accident(kind), later);
    checkShows(result, event);
    CAPTURE(result.trace);
    CHECK(result.calls == 3);
  }
  // The log is folded in, which makes room, and the commit is tried again: the handler is not.
  const HandlerWorldResult full = worldOf(accident(Kind::commitFull), later);
  checkShows(full, "the disk is full: a write fails");
  CHECK_MESSAGE(full.calls == 2, full.trace);
  checkShows(worldOf(accident(Kind::undo), later), "the write lock is busy");
}

TEST_CASE("processes are killed and started, and disks fail") {
  const HandlerWorldResult killed =
      worldOf(PlannedKill{.at = 5ms, .process = "bank", .atWrite = {}, .away = std::chrono::milliseconds(50)});
  checkShows(killed, "0.005 s  bank              is killed\n");
  CHECK(killed.kills == 1);
  const std::size_t start = killed.trace.find("bank              starts");
  CHECK(killed.trace.find("bank              starts", start + 1) != std::string::npos);
  checkShows(worldOf(PlannedKill{.at = 5ms, .process = "bank", .atWrite = 0, .away = 50ms}),
             "bank              is killed at a disk write");
  for (const auto& [fault, event] : {std::pair(DiskFault::busy, "the write lock is busy"),
                                     std::pair(DiskFault::full, "the disk is full: a write fails"),
                                     std::pair(DiskFault::ioError, "the disk is broken: a call fails")}) {
    const HandlerWorldResult result =
        worldOf(PlannedDiskFault{.at = 5ms, .process = "bank", .fault = fault, .after = 0, .count = 1});
    checkShows(result, event);
    CHECK(result.diskFaults == 1);
  }
}

TEST_CASE("the network and the calendar fail") {
  checkShows(worldOf(PlannedBlock{.at = 5ms, .from = "bank", .to = "alice", .time = 100ms}), "is blocked");
  checkShows(worldOf(PlannedNetworkFault{.kind = &NetworkFaults::duplicated, .probability = 1}),
             "arrives a second time");
  checkShows(worldOf(PlannedClockStep{.at = 5ms, .process = "bank", .by = -1'000ms}), "calendar is moved by -1000 ms");
}

}  // namespace ackbox::testing::handler_world_test
