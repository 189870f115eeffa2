// Goal: each check of the ledger names what is wrong, and nothing else.
// Method: a sound handler makes a true ledger; the checks are given queries that lie about the effects.

#include "ackbox/testing/ledger.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <string>

#include "ackbox/testing/check_handler.hpp"

namespace ackbox::testing::ledger_test {
namespace {

/// What `check` says of a world without expiry in which each frame of one sender's session was written and answered.
template <typename Check>
std::string inWorld(Check check) {
  CheckOptions options;
  options.schema = "CREATE TABLE effects(at INTEGER PRIMARY KEY, frame TEXT)";
  options.worlds = 1;
  options.senders = {"alice"};
  options.sessions = 1;
  options.frames = 4;
  options.unordered = 0;
  options.expiring = 0;
  options.minimizeRunsMax = 0;
  const auto factory = [](HandlerHost&) -> CheckedHandler {
    return [](const InboundFrame& frame, InboundTransaction& transaction) {
      SQLite::Statement add(transaction.database(), "INSERT INTO effects(frame) VALUES(?)");
      add.bind(1, frame.id);
      add.exec();
      const Frame reply = {.peer = "alice", .type = "reply", .data = "\"" + frame.id + "\"", .correlationId = frame.id};
      return transaction.enqueue(reply).accepted() ? HandlerResult::ack() : HandlerResult::notNow();
    };
  };
  return checkHandler(factory, check, options).fault;
}

std::string once(const std::string& effects) {
  return inWorld(
      [&](SQLite::Database& database, const Ledger& ledger) { return ledger.eachOnceInOrder(database, effects); });
}

std::string replies(const std::string& effects) {
  return inWorld(
      [&](SQLite::Database& database, const Ledger& ledger) { return ledger.repliesEqualEffects(database, effects); });
}

}  // namespace

TEST_CASE("each once, in order") {
  CHECK(once("SELECT frame FROM effects ORDER BY at").empty());
  CHECK(once("SELECT frame FROM effects WHERE at <> 2 ORDER BY at") ==
        "m2 took effect 0 times, but the receiver acknowledged it\n");
  CHECK(once("SELECT frame FROM effects UNION ALL SELECT 'm4'") ==
        "m4 took effect 2 times, but the receiver acknowledged it\n");
  CHECK(once("SELECT frame FROM effects UNION ALL SELECT 'x'") == "an effect names \"x\", which no sender sent\n");
  CHECK(once("SELECT frame FROM effects ORDER BY at = 1, at") == "m1 (s1#1) took effect after m4 (#4) of alice\n");
  CHECK(once("SELECT frames") == "the invariant throws: no such column: frames\n");
}

TEST_CASE("replies equal effects") {
  CHECK(replies("SELECT frame FROM effects").empty());
  CHECK(replies("SELECT frame, '\"' || frame || '\"' FROM effects").empty());
  CHECK(replies("SELECT frame FROM effects UNION ALL SELECT 'm9'") == "the effect of m9 has no reply\n");
  CHECK(replies("SELECT frame FROM effects WHERE at <> 2") ==
        "the reply \"m2\" to m2 has no effect, or is one too many\n");
  CHECK(replies("SELECT frame, '\"' || replace(frame, 'm3', 'w') || '\"' FROM effects") ==
        "the reply to m3 is \"m3\", its effect is \"w\"\n");
}

}  // namespace ackbox::testing::ledger_test
