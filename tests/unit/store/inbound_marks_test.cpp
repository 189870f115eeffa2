// Goal: marks that other SQL has spoilt are noticed, and the rows of closed stores go in small slices (P9). What marks
// promise, `store_conformance` tries.
// Method: foreign statements between two frames; a clock that is moved over the retention.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "store/sqlite/read/verify.hpp"
#include "store_conformance/marks.hpp"
#include "store_world.hpp"

namespace inbound_marks_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::Admission;
using store::InboundIdentity;

TEST_CASE("P6: a mark that other SQL has spoilt is told of, and takes nothing again") {
  for (const char* change :
       {"ackbox_inbound_sessions SET accepted_sequence=x'05'", "ackbox_inbound_sessions SET epoch='x'",
        "ackbox_inbound_origins SET epoch=x''", "ackbox_inbound_origins SET state='closed'"}) {
    CAPTURE(std::string(change));
    StoreWorld world;
    CHECK(offer(*world.open(), numbered(1, 0)).admission == Admission::take);
    SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec("UPDATE " + std::string(change));
    const auto store = world.open();
    CHECK_THROWS_WITH_AS(offer(*store, numbered(1, 0)), doctest::Contains("from urn:peer is no number"), Error);
    store->rollback();
    CHECK(offer(*store, loose("a")).admission == Admission::take);
  }
}

TEST_CASE("P5: no frame is acknowledged whose mark foreign statements took away") {
  StoreWorld world;
  const auto store = world.open();
  offer(*store, numbered(1, 0));
  store->begin(true);
  store->inboundMarks().markProcessed(numbered(2, 1), 0, kMarkLife);
  store->database().exec("DELETE FROM ackbox_inbound_sessions");
  CHECK_THROWS_WITH_AS(store->commit(), doctest::Contains("foreign statements"), Error);
  CHECK(offer(*store, numbered(1, 0)).admission == Admission::duplicate);
  CHECK(offer(*store, numbered(2, 1)).admission == Admission::take);
}

namespace {

std::int64_t countIn(const StoreWorld& world, const std::string& what) {
  SQLite::Database database(world.file.string(), SQLite::OPEN_READWRITE);
  return database.execAndGet("SELECT count(*) FROM " + what).getInt64();
}

}  // namespace

TEST_CASE("P9: the sessions of a closed store go in small slices, and a sender at its limit waits for none of them") {
  StoreWorld world;
  const auto store = world.open();
  for (int session = 0; session < 20; ++session) {
    speak(*store, "old", 1, "s" + std::to_string(session));
  }
  world.clock->advance(2 * kDay);
  speak(*store, "new", 1);
  world.clock->advance(200 * kDay);
  speak(*store, "new", 2);
  CHECK(countIn(world, "ackbox_inbound_sessions WHERE origin='old'") == 16);
  InboundLimits limits;
  limits.sessionsMax = 10;
  InboundIdentity fresh = numbered(1, 0);
  fresh.origin = "new";
  fresh.session = "another";
  CHECK_FALSE(inTransaction(*store, [&] {
    CHECK(store->inboundMarks().admit(fresh).admission == Admission::take);
    return store->inboundMarks().limitReached(fresh, limits);
  }));
  CHECK(countIn(world, "ackbox_inbound_sessions WHERE origin='old'") == 0);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("P9: a closed store whose frames still wait does not keep the sweep from its sender's other closed stores") {
  StoreWorld world;
  const auto store = world.open();
  // By name, the one that waits comes first, and has more sessions than a slice looks at.
  for (int session = 0; session < 10; ++session) {
    const std::string name = "s" + std::to_string(session);
    speak(*store, "busy", 1, name);
    InboundFrame waiting;
    waiting.source = "urn:peer";
    waiting.origin = "busy";
    waiting.session = name;
    waiting.sequence = 1;
    waiting.id = name;
    waiting.type = "test";
    waiting.data = "{}";
    inTransaction(*store, [&] { store->inbox().add(waiting, true); });
    speak(*store, "idle", 1, name);
  }
  speak(*store, "busy", 1, "last");
  world.clock->advance(2 * kDay);
  speak(*store, "new", 1);
  world.clock->advance(200 * kDay);
  for (int session = 0; session < 8; ++session) {
    speak(*store, "new", 1, "t" + std::to_string(session));
  }
  CHECK(countIn(world, "ackbox_inbound_sessions WHERE origin='busy'") == 10);
  CHECK(countIn(world, "ackbox_inbound_sessions WHERE origin='idle'") == 0);
  CHECK(countIn(world, "ackbox_inbound_origins WHERE origin='busy' AND state=1") == 1);
  CHECK(countIn(world, "ackbox_inbound_origins WHERE origin='idle' AND state=2") == 1);
  // Once nothing waits, the rest goes as well.
  for (const store::InboxPlace& place : inTransaction(*store, [&] { return store->inbox().rowsAfter({}, 100).rows; })) {
    inTransaction(*store, [&] {
      const store::InboxClaim claim = store->inbox().claim({&place.key, 1}, std::chrono::hours(1)).front();
      const FrameResult nothing;
      const store::InboxEnding end{&claim.row, &nothing};
      store->inbox().finish({&end, 1}, std::chrono::hours(1));
    });
  }
  for (int session = 8; session < 16; ++session) {
    speak(*store, "new", 1, "t" + std::to_string(session));
  }
  CHECK(countIn(world, "ackbox_inbound_sessions WHERE origin='busy'") == 0);
  CHECK(countIn(world, "ackbox_inbound_origins WHERE state=2") == 2);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("P9: a store is closed after any silence that was asked for, and without one never") {
  for (const std::int64_t silence : {0, 1}) {
    CAPTURE(silence);
    StoreWorld world;
    const auto store = world.open();
    const auto say = [&](const std::string& origin, std::uint64_t sequence) {
      InboundIdentity identity = numbered(sequence, sequence - 1);
      identity.origin = origin;
      offer(*store, identity, {kMarkRetention, kMarkRetention, std::chrono::milliseconds(silence)});
    };
    say("old", 1);
    world.clock->advance(2 * kDay);
    say("new", 1);
    world.clock->advance(2 * kDay);
    say("new", 2);
    CHECK(countIn(world, "ackbox_inbound_origins WHERE origin='old' AND state<>0") == silence);
  }
}

TEST_CASE("P9: the sweeps of two senders go on in turns, each where it was") {
  StoreWorld world;
  const auto store = world.open();
  const std::string sources[] = {"urn:a", "urn:b"};
  const auto say = [&](const std::string& source, const std::string& origin, const std::string& session) {
    InboundIdentity identity = numbered(1, 0);
    identity.source = source;
    identity.origin = origin;
    identity.session = session;
    offer(*store, identity, kClosingLife);
  };
  for (const std::string& source : sources) {
    for (int session = 0; session < 10; ++session) {
      InboundFrame waiting;
      waiting.source = source;
      waiting.origin = "busy";
      waiting.session = "s" + std::to_string(session);
      waiting.sequence = 1;
      waiting.id = waiting.session;
      waiting.type = "test";
      waiting.data = "{}";
      say(source, waiting.origin, waiting.session);
      inTransaction(*store, [&] { store->inbox().add(waiting, true); });
      say(source, "idle", waiting.session);
    }
  }
  world.clock->advance(2 * kDay);
  for (const std::string& source : sources) {
    say(source, "new", "s");
  }
  world.clock->advance(200 * kDay);
  for (int session = 0; session < 8; ++session) {
    for (const std::string& source : sources) {
      say(source, "new", "t" + std::to_string(session));
    }
  }
  CHECK(countIn(world, "ackbox_inbound_sessions WHERE origin='busy'") == 20);
  CHECK(countIn(world, "ackbox_inbound_sessions WHERE origin='idle'") == 0);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

}  // namespace inbound_marks_test
