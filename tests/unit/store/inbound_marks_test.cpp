// Goal: P6 and P5's mark: a frame of a session takes effect once, in order, for ever, over visible gaps; a frame
// outside any session once for its retention; a restored sender is told from an honest one.
// Method: a table of frames against one session; a clock that is moved over the retention.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"

namespace inbound_marks_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::Admission;
using store::InboundIdentity;

namespace {

constexpr std::chrono::milliseconds kRetention = std::chrono::hours(24 * 7);
constexpr store::MarkLife kLife{kRetention, 10 * kRetention};

InboundIdentity frame(std::uint64_t sequence, std::uint64_t previous, std::uint64_t epoch = 1) {
  InboundIdentity identity;
  identity.source = "urn:peer";
  identity.id = "id";
  identity.origin = "origin";
  identity.session = "s";
  identity.epoch = epoch;
  identity.sequence = sequence;
  identity.previousSequence = previous;
  return identity;
}

InboundIdentity loose(std::string_view id) {
  InboundIdentity identity;
  identity.source = "urn:peer";
  identity.id = id;
  return identity;
}

store::AdmissionReply offer(store::sqlite::SqliteStore& store, const InboundIdentity& identity) {
  return inTransaction(store, [&] {
    const auto reply = store.inboundMarks().admit(identity);
    if (reply.admission == Admission::take) {
      store.inboundMarks().markProcessed(identity, reply.gap, kLife);
    } else if (reply.admission == Admission::duplicate) {
      store.inboundMarks().countDuplicate();
    }
    return reply;
  });
}

}  // namespace

TEST_CASE("P6: a mark that other SQL has spoilt is told of, and takes nothing again") {
  for (const char* change :
       {"ackbox_inbound_sessions SET accepted_sequence=x'05'", "ackbox_inbound_sessions SET epoch='x'",
        "ackbox_inbound_origins SET epoch=x''", "ackbox_inbound_origins SET state='closed'"}) {
    CAPTURE(std::string(change));
    StoreWorld world;
    CHECK(offer(*world.open(), frame(1, 0)).admission == Admission::take);
    SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec("UPDATE " + std::string(change));
    const auto store = world.open();
    CHECK_THROWS_WITH_AS(offer(*store, frame(1, 0)), doctest::Contains("from urn:peer is no number"), Error);
    store->rollback();
    CHECK(offer(*store, loose("a")).admission == Admission::take);
  }
}

TEST_CASE("P6: frames of a session are taken in order, once, over gaps that are counted") {
  StoreWorld world;
  const auto store = world.open();
  struct Offer {
    std::uint64_t sequence;
    std::uint64_t previous;
    std::uint64_t epoch;
    Admission expected;
    std::uint64_t accepted;
    std::uint64_t gap;
  };
  const Offer offers[] = {
      {2, 1, 1, Admission::outOfSequence, 0, 0},  // its predecessor never came
      {1, 0, 1, Admission::take, 0, 0},          {1, 0, 1, Admission::duplicate, 1, 0},
      {2, 1, 1, Admission::take, 1, 0},          {5, 2, 1, Admission::take, 2, 2},  // 3 and 4 are dead letters
      {3, 2, 1, Admission::duplicate, 5, 0},                                        // too late: passed over
      {7, 6, 1, Admission::outOfSequence, 5, 0}, {6, 5, 3, Admission::take, 5, 0},  // the sender was opened again
      {7, 6, 2, Admission::staleEpoch, 6, 0},                                       // an older copy of it
      {6, 5, 2, Admission::staleEpoch, 6, 0},    {7, 6, 3, Admission::take, 6, 0},
  };
  for (const Offer& each : offers) {
    CAPTURE(each.sequence);
    CAPTURE(each.epoch);
    const auto reply = offer(*store, frame(each.sequence, each.previous, each.epoch));
    CHECK(reply.admission == each.expected);
    CHECK(reply.accepted == each.accepted);
    CHECK(reply.gap == each.gap);
  }
  const Stats stats = store::sqlite::SqliteReader(world.file, world.options).stats();
  CHECK(stats.received == 5);
  CHECK(stats.duplicates == 2);
  CHECK(stats.gaps == 2);
}

TEST_CASE("a first frame that is not number one leaves a gap, when its sender stands by nothing before it") {
  StoreWorld world;
  const auto store = world.open();
  CHECK(offer(*store, frame(4, 0)).gap == 3);
}

TEST_CASE("P11: whatever numbers peers claim, their gaps add up without overflow") {
  StoreWorld world;
  const auto store = world.open();
  constexpr std::uint64_t kLargest = (std::uint64_t{1} << 63U) - 1;
  for (const char* origin : {"one", "two", "three"}) {
    InboundIdentity identity = frame(kLargest, 0);
    identity.origin = origin;
    CHECK(offer(*store, identity).admission == Admission::take);
  }
  CHECK(store::sqlite::SqliteReader(world.file, world.options).stats().gaps == 3 * (std::uint64_t{1} << 32U));
}

TEST_CASE("sessions of other names and other origins are apart") {
  StoreWorld world;
  const auto store = world.open();
  offer(*store, frame(1, 0));
  InboundIdentity other = frame(1, 0);
  other.origin = "elsewhere";
  CHECK(offer(*store, other).admission == Admission::take);
  other = frame(1, 0);
  other.session = "t";
  CHECK(offer(*store, other).admission == Admission::take);
}

TEST_CASE("P6: the epochs of one sender's stores are apart") {
  StoreWorld world;
  const auto store = world.open();
  CHECK(offer(*store, frame(1, 0, 5)).admission == Admission::take);
  InboundIdentity other = frame(1, 0, 1);
  other.origin = "another";
  CHECK(offer(*store, other).admission == Admission::take);
  CHECK(offer(*store, frame(2, 1, 4)).admission == Admission::staleEpoch);
}

TEST_CASE("P11: a peer that names another's store and session moves only a mark of its own") {
  StoreWorld world;
  const auto store = world.open();
  offer(*store, frame(1, 0));
  InboundIdentity hostile = frame(1'000, 0, 9);
  hostile.source = "urn:mallory";
  CHECK(offer(*store, hostile).admission == Admission::take);
  CHECK(offer(*store, frame(1, 0)).admission == Admission::duplicate);
  CHECK(offer(*store, frame(2, 1)).admission == Admission::take);
}

TEST_CASE("P6: a session's mark is one row however many frames came, and it outlives every purge") {
  StoreWorld world;
  const auto store = world.open();
  for (std::uint64_t sequence = 1; sequence <= 50; ++sequence) {
    offer(*store, frame(sequence, sequence - 1));
  }
  world.clock->advance(kRetention * 100);
  inTransaction(*store, [&] { store->inboundMarks().purge(1'000); });
  CHECK(offer(*store, frame(1, 0)).admission == Admission::duplicate);
  CHECK(store->database().execAndGet("SELECT count(*) FROM ackbox_inbound_sessions").getInt() == 1);
  CHECK(store->database().execAndGet("SELECT count(*) FROM ackbox_processed_messages").getInt() == 0);
}

TEST_CASE("row 19: frames outside sessions are known by id and source until their marks may be purged") {
  StoreWorld world;
  const auto store = world.open();
  CHECK(offer(*store, loose("a")).admission == Admission::take);
  CHECK(offer(*store, loose("a")).admission == Admission::duplicate);
  InboundIdentity otherSource = loose("a");
  otherSource.source = "urn:other";
  CHECK(offer(*store, otherSource).admission == Admission::take);
  InboundIdentity lasting = loose("b");
  lasting.expiresAt = world.clock->wallNow() + kRetention * 2;
  offer(*store, lasting);

  const auto purge = [&](std::size_t limit) {
    return inTransaction(*store, [&] { return store->inboundMarks().purge(limit); });
  };
  world.clock->advance(kRetention);
  CHECK(purge(10) == 0);
  world.clock->advance(std::chrono::milliseconds(1));
  CHECK(purge(1) == 1);
  CHECK(purge(10) == 1);
  CHECK(offer(*store, loose("a")).admission == Admission::take);
  // Its expiry and the tolerated skew of five minutes outlast the retention.
  world.clock->advance(kRetention);
  CHECK(offer(*store, loose("b")).admission == Admission::duplicate);
  world.clock->advance(std::chrono::minutes(5));
  CHECK(purge(10) == 2);
}

TEST_CASE("P11: a frame whose expiry lies at the end of time does not keep its mark for ever") {
  StoreWorld world;
  const auto store = world.open();
  InboundIdentity endless = loose("endless");
  endless.expiresAt = WallTime::max();
  offer(*store, endless);
  const auto purge = [&] { return inTransaction(*store, [&] { return store->inboundMarks().purge(10); }); };
  world.clock->advance(kLife.most);
  CHECK(purge() == 0);
  world.clock->advance(std::chrono::milliseconds(1));
  CHECK(purge() == 1);
}

TEST_CASE("P5: a mark that is rolled back with its transaction lets the frame in again") {
  StoreWorld world;
  const auto store = world.open();
  offer(*store, frame(1, 0));
  store->begin(true);
  CHECK(store->inboundMarks().admit(frame(2, 1)).admission == Admission::take);
  store->inboundMarks().markProcessed(frame(2, 1), 0, kLife);
  CHECK(store->inboundMarks().admit(frame(2, 1)).admission == Admission::duplicate);
  store->rollback();
  CHECK(offer(*store, frame(2, 1)).admission == Admission::take);
  CHECK(store::sqlite::SqliteReader(world.file, world.options).stats().received == 2);
}

TEST_CASE("P5: what a later frame's handler takes back leaves the marks before it") {
  StoreWorld world;
  {
    const auto store = world.open();
    store->begin(true);
    store->inboundMarks().markProcessed(frame(1, 0), 0, kLife);
    store->savepoint();
    store->rollbackToSavepoint();
    CHECK(store->inboundMarks().admit(frame(1, 0)).admission == Admission::duplicate);
    store->commit();
  }
  CHECK(offer(*world.open(), frame(1, 0)).admission == Admission::duplicate);
}

TEST_CASE("P5: no frame is acknowledged whose mark foreign statements took away") {
  StoreWorld world;
  const auto store = world.open();
  offer(*store, frame(1, 0));
  store->begin(true);
  store->inboundMarks().markProcessed(frame(2, 1), 0, kLife);
  store->database().exec("DELETE FROM ackbox_inbound_sessions");
  CHECK_THROWS_WITH_AS(store->commit(), doctest::Contains("foreign statements"), Error);
  CHECK(offer(*store, frame(1, 0)).admission == Admission::duplicate);
  CHECK(offer(*store, frame(2, 1)).admission == Admission::take);
}

TEST_CASE("P6: frames of one commit move a mark together, and their gaps add up") {
  StoreWorld world;
  InboundIdentity last = frame(9, 5, 3);
  last.id = "last";
  last.digest = 7;
  {
    const auto store = world.open();
    offer(*store, frame(2, 0));
    inTransaction(*store, [&] {
      for (const InboundIdentity& each : {frame(3, 2), frame(5, 3, 3), last}) {
        const auto reply = store->inboundMarks().admit(each);
        REQUIRE(reply.admission == Admission::take);
        store->inboundMarks().markProcessed(each, reply.gap, kLife);
      }
    });
  }
  const auto store = world.open();
  CHECK(store->database().execAndGet("SELECT gaps FROM ackbox_inbound_sessions").getInt() == 1 + 1 + 3);
  CHECK(offer(*store, frame(10, 9, 2)).admission == Admission::staleEpoch);
  CHECK(offer(*store, frame(9, 5, 3)).admission == Admission::numberTaken);
  CHECK(offer(*store, last).admission == Admission::duplicate);
  CHECK(store->database().execAndGet("SELECT epoch FROM ackbox_inbound_sessions").getInt() == 3);
  last.digest = 8;
  CHECK(offer(*store, last).admission == Admission::idConflict);
}

TEST_CASE("P6: marks are told apart, and kept, however many sessions speak in one commit") {
  StoreWorld world;
  constexpr std::uint64_t kSessions = 20'500;
  const auto inSession = [](const std::string& name, std::uint64_t sequence) {
    InboundIdentity identity = frame(sequence, sequence - 1);
    identity.session = name;
    return identity;
  };
  {
    const auto store = world.open();
    inTransaction(*store, [&] {
      for (std::uint64_t session = 0; session < kSessions; ++session) {
        const std::string name = std::to_string(session);
        store->inboundMarks().markProcessed(inSession(name, 1), 0, kLife);
        store->inboundMarks().markProcessed(inSession(name, 2 + session % 3), 0, kLife);
      }
    });
  }
  const auto store = world.open();
  for (const std::uint64_t session : {std::uint64_t{0}, std::uint64_t{1}, kSessions - 501, kSessions - 1}) {
    const std::string name = std::to_string(session);
    CHECK(inTransaction(*store, [&] { return store->inboundMarks().admit(inSession(name, 1)); }).accepted ==
          2 + session % 3);
  }
}

TEST_CASE("P6: a mark that another process moved is seen") {
  StoreWorld world;
  const auto one = world.open();
  const auto other = world.open();
  CHECK(offer(*one, frame(1, 0)).admission == Admission::take);
  CHECK(offer(*other, frame(2, 1)).admission == Admission::take);
  CHECK(offer(*one, frame(2, 1)).admission == Admission::duplicate);
  CHECK(offer(*one, frame(3, 2)).admission == Admission::take);
  CHECK(offer(*other, frame(3, 2)).admission == Admission::duplicate);
}

namespace {

constexpr std::chrono::milliseconds kDay = std::chrono::hours(24);
constexpr store::MarkLife kClosingLife{kRetention, 10 * kRetention, 180 * kDay};

/// A frame of a session of `origin`.
Admission speak(store::sqlite::SqliteStore& store, std::string_view origin, std::uint64_t sequence,
                std::string_view session = "s") {
  InboundIdentity identity = frame(sequence, sequence - 1);
  identity.origin = origin;
  identity.session = session;
  return inTransaction(store, [&] {
    const auto reply = store.inboundMarks().admit(identity);
    if (reply.admission == Admission::take) {
      store.inboundMarks().markProcessed(identity, reply.gap, kClosingLife);
    }
    return reply.admission;
  });
}

std::int64_t countIn(const StoreWorld& world, const std::string& what) {
  SQLite::Database database(world.file.string(), SQLite::OPEN_READWRITE);
  return database.execAndGet("SELECT count(*) FROM " + what).getInt64();
}

}  // namespace

TEST_CASE("P6: a store that was silent for long after another began is closed, and nothing of it takes effect again") {
  StoreWorld world;
  const auto store = world.open();
  CHECK(speak(*store, "old", 1) == Admission::take);
  CHECK(speak(*store, "old", 1, "t") == Admission::take);
  world.clock->advance(2 * kDay);
  CHECK(speak(*store, "new", 1) == Admission::take);
  world.clock->advance(179 * kDay);
  CHECK(speak(*store, "new", 2) == Admission::take);
  CHECK(speak(*store, "old", 1) == Admission::duplicate);
  world.clock->advance(3 * kDay);
  CHECK(speak(*store, "new", 3) == Admission::take);
  CHECK(countIn(world, "ackbox_inbound_sessions WHERE origin='old'") == 0);
  CHECK(countIn(world, "ackbox_inbound_origins WHERE origin='old' AND state=2") == 1);
  // Neither a repetition nor a next one: what was accepted is not known any more.
  CHECK(speak(*store, "old", 1) == Admission::closedOrigin);
  CHECK(speak(*store, "old", 2) == Admission::closedOrigin);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("P6: a store that nobody took the place of is never closed, however long it is silent") {
  StoreWorld world;
  const auto store = world.open();
  CHECK(speak(*store, "first", 1) == Admission::take);
  world.clock->advance(4'000 * kDay);
  // It began just now: whether it takes the place of the other is not known yet.
  CHECK(speak(*store, "second", 1) == Admission::take);
  CHECK(speak(*store, "first", 1) == Admission::duplicate);
  CHECK(speak(*store, "first", 2) == Admission::take);
}

TEST_CASE("P6: two stores of one sender that speak in turns stay open when the clock leaps ahead") {
  StoreWorld world;
  const auto store = world.open();
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    CHECK(speak(*store, "a", sequence) == Admission::take);
    CHECK(speak(*store, "b", sequence) == Admission::take);
    world.clock->advance(2 * kDay);
  }
  world.clock->advance(1'000 * kDay);
  CHECK(speak(*store, "c", 1) == Admission::take);
  CHECK(speak(*store, "a", 4) == Admission::take);
  CHECK(speak(*store, "b", 4) == Admission::take);
}

TEST_CASE("P6: a sender is forgotten in the transaction that takes a frame of it") {
  StoreWorld world;
  const auto store = world.open();
  CHECK(speak(*store, "store", 1) == Admission::take);
  const auto report = inTransaction(*store, [&] {
    InboundIdentity next = frame(2, 1);
    next.origin = "store";
    CHECK(store->inboundMarks().admit(next).admission == Admission::take);
    store->inboundMarks().markProcessed(next, 0, kClosingLife);
    store::ForgetPlace place;
    return store->inboundMarks().forgetSender("urn:peer", std::nullopt, place, 100);
  });
  CHECK(report.sessions == 1);
  CHECK(countIn(world, "ackbox_inbound_sessions") == 0);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

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
  InboundIdentity fresh = frame(1, 0);
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
  for (const store::InboxPlace& place : inTransaction(*store, [&] { return store->inbox().rowsAfter(0, 100); })) {
    inTransaction(*store, [&] {
      const store::InboxClaim claim = store->inbox().claim(place.key, std::chrono::hours(1));
      store->inbox().finish(claim.row, {}, std::chrono::hours(1));
    });
  }
  for (int session = 8; session < 16; ++session) {
    speak(*store, "new", 1, "t" + std::to_string(session));
  }
  CHECK(countIn(world, "ackbox_inbound_sessions WHERE origin='busy'") == 0);
  CHECK(countIn(world, "ackbox_inbound_origins WHERE state=2") == 2);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

}  // namespace inbound_marks_test
