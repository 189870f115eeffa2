// Goal: P10 and liveness: whatever foreign statements do to the rows, no gauge stays negative, a queue without a
// message is never full, and `repair` makes every gauge true again, also beside a running agent. Method: rows and
// gauges changed by SQL behind a store's back; `verify` judges.

#include "store/sqlite/schema/recount.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <string>

#include "store/sqlite/inbound/inbox.hpp"
#include "store/sqlite/outbound/application_writer.hpp"
#include "store/sqlite/outbound/row_checksum.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"

namespace recount_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;

namespace {

void change(const StoreWorld& world, const std::string& sql) {
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec(sql);
}

// `$` stands for the checksum of the waiting frame that some of the changes add.
std::string withChecksum(std::string sql) {
  InboundFrame frame;
  frame.id = "f";
  frame.source = "urn:agent:x";
  frame.epoch = 1;
  frame.type = "t";
  frame.data = "1";
  if (const std::size_t place = sql.find('$'); place != std::string::npos) {
    sql.replace(place, 1, std::to_string(store::sqlite::checksumOf(frame)));
  }
  return sql;
}

void checkSound(const StoreWorld& world) {
  for (const Finding& finding : store::sqlite::verify(world.file, world.options).findings) {
    FAIL_CHECK(finding.table << " " << finding.row << ": " << finding.problem);
  }
}

Stats statsOf(const StoreWorld& world) {
  return store::sqlite::SqliteReader(world.file, world.options).stats();
}

/// Enqueues a message and gives it up.
void failOne(store::sqlite::SqliteStore& store, const std::string& session) {
  enqueueOne(store, frameOf(session));
  auto failed = settlementOf(claimNew(store), Transition::fail);
  failed.reason = "rejected";
  REQUIRE(settleOne(store, failed));
}

RepairReport repair(store::sqlite::SqliteStore& store) {
  return inTransaction(store, [&] { return store.repair(); });
}

}  // namespace

TEST_CASE("a dead letter that is made pending by an UPDATE leaves no negative gauge, and enqueues go on") {
  StoreWorld world;
  auto store = world.open();
  failOne(*store, "s");
  change(world, "UPDATE ackbox_outbox SET state=0");
  store.reset();
  store = world.open();
  REQUIRE(settleOne(*store, settlementOf(claimNew(*store), Transition::ack)));
  CHECK(statsOf(world).pending == 0);
  CHECK(statsOf(world).failed == 0);
  CHECK(statsOf(world).recounts == 1);
  CHECK(enqueueOne(*store, frameOf("s")).status == EnqueueStatus::stored);
  CHECK(statsOf(world).pending == 1);
  checkSound(world);
}

TEST_CASE("a negative gauge that is in the file is shown as none, and counted anew with the next commit") {
  StoreWorld world;
  auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  store.reset();
  change(world, "UPDATE ackbox_counters SET pending=-5, pending_bytes=-5");
  CHECK(statsOf(world).pending == 0);
  CHECK(statsOf(world).pendingBytes == 0);
  store = world.open();
  CHECK(enqueueOne(*store, frameOf("s")).status == EnqueueStatus::stored);
  CHECK(statsOf(world).pending == 2);
  checkSound(world);
}

TEST_CASE("queueFull is never said of a queue without a message, whatever the gauges say") {
  for (const char* sql : {"DELETE FROM ackbox_outbox WHERE state=0",
                          "UPDATE ackbox_outbox SET state=4, reason='by hand' WHERE state=0"}) {
    CAPTURE(std::string(sql));
    StoreWorld world;
    world.options.maxPending = 3;
    auto store = world.open();
    failOne(*store, "dead");
    for (int message = 0; message < 3; ++message) {
      CHECK(enqueueOne(*store, frameOf("s")).status == EnqueueStatus::stored);
    }
    CHECK(enqueueOne(*store, frameOf("s")).status == EnqueueStatus::queueFull);
    // All of them are counted in the file.
    store.reset();
    store = world.open();
    change(world, sql);
    CHECK(enqueueOne(*store, frameOf("s")).status == EnqueueStatus::stored);
    CHECK(statsOf(world).pending == 1);
    CHECK(statsOf(world).recounts == 1);
    CHECK(enqueueOne(*store, frameOf("s")).status == EnqueueStatus::stored);
    CHECK(enqueueOne(*store, frameOf("s")).status == EnqueueStatus::stored);
    CHECK(enqueueOne(*store, frameOf("s")).status == EnqueueStatus::queueFull);
    checkSound(world);
  }
}

TEST_CASE("an application's own connection enqueues to a queue without a message, whatever the gauges say") {
  StoreWorld world;
  world.options.maxPending = 1;
  auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  store.reset();
  change(world, "DELETE FROM ackbox_outbox");
  {
    SQLite::Database application(world.file.string(), SQLite::OPEN_READWRITE);
    store::sqlite::ApplicationWriter writer(application.getHandle(), world.options, {});
    application.exec("BEGIN IMMEDIATE");
    CHECK(writer.enqueue(frameOf("s")).status == EnqueueStatus::stored);
    application.exec("COMMIT");
  }
  store = world.open();
  repair(*store);
  checkSound(world);
}

TEST_CASE("the limits hold in the transaction in which the gauges are found to be too high") {
  StoreWorld world;
  world.options.maxPending = 2;
  auto store = world.open();
  for (int message = 0; message < 2; ++message) {
    enqueueOne(*store, frameOf("s"));
  }
  store.reset();
  change(world, "DELETE FROM ackbox_outbox");
  store = world.open();
  int stored = 0;
  inTransaction(*store, [&] {
    for (int message = 0; message < 5; ++message) {
      stored += store->outbox().enqueue(frameOf("s")).isNew() ? 1 : 0;
    }
  });
  CHECK(stored == 2);
  CHECK(statsOf(world).recounts == 1);
  CHECK(enqueueOne(*store, frameOf("s")).status == EnqueueStatus::queueFull);
  checkSound(world);
}

TEST_CASE("a frame larger than the queue is refused by an empty queue, and costs no recount") {
  StoreWorld world;
  world.options.maxPendingBytes = 10;
  const Frame large = frameOf("s", "[1,2,3,4,5,6,7]");
  SUBCASE("on the store's connection") {
    const auto store = world.open();
    CHECK(enqueueOne(*store, large).status == EnqueueStatus::queueFull);
    CHECK(enqueueOne(*store, frameOf("s", "[1]")).status == EnqueueStatus::stored);
    CHECK(enqueueOne(*store, large).status == EnqueueStatus::queueFull);
  }
  SUBCASE("on the store's connection, with gauges that are too high") {
    auto store = world.open();
    enqueueOne(*store, frameOf("s", "[1,2]"));
    store.reset();
    change(world, "DELETE FROM ackbox_outbox");
    store = world.open();
    CHECK(enqueueOne(*store, large).status == EnqueueStatus::queueFull);
    inTransaction(*store, [&] { static_cast<void>(store->repair()); });
  }
  SUBCASE("on an application's connection") {
    world.open();
    SQLite::Database application(world.file.string(), SQLite::OPEN_READWRITE);
    store::sqlite::ApplicationWriter writer(application.getHandle(), world.options, {});
    application.exec("BEGIN IMMEDIATE");
    CHECK(writer.enqueue(large).status == EnqueueStatus::queueFull);
    application.exec("COMMIT");
  }
  checkSound(world);
}

TEST_CASE(
    "P10: repair makes each gauge true again beside another process, tells which, and finds nothing the next time") {
  for (const char* sql :
       {"UPDATE ackbox_counters SET pending=pending+3", "UPDATE ackbox_counters SET sent=7",
        "UPDATE ackbox_counters SET failed=0", "UPDATE ackbox_counters SET pending_bytes=1",
        "UPDATE ackbox_counters SET retained=9", "UPDATE ackbox_counters SET oldest_key=99",
        "UPDATE ackbox_counters SET inbox=4", "UPDATE ackbox_counters SET inbox_bytes=4",
        "UPDATE ackbox_counters SET inbound_bytes=4", "UPDATE ackbox_session_states SET live=live+1 WHERE session_id=2",
        "UPDATE ackbox_session_states SET failed=8 WHERE session_id=1",
        "UPDATE ackbox_session_states SET last_sequence=0 WHERE session_id=2",
        "UPDATE ackbox_peer_counters SET pending=9, sent=8, failed=7, pending_bytes=6 WHERE peer_id=1",
        "INSERT INTO ackbox_inbound_senders VALUES('urn:x',1,1,1,1,1,1)",
        "INSERT INTO ackbox_processed_messages(id,source,processed_at_ms,keep_until_ms,digest) "
        "VALUES('i','urn:x',0,1,0)",
        "DELETE FROM ackbox_outbox WHERE state=4", "UPDATE ackbox_outbox SET state=4, reason='x' WHERE state=0"}) {
    CAPTURE(std::string(sql));
    StoreWorld world;
    world.options.peers = {{.name = "default"}, {.name = "other"}};
    world.lives = std::make_shared<Lives>();
    const auto agent = world.open();
    failOne(*agent, "s");
    enqueueOne(*agent, frameOf("t"));
    enqueueOne(*agent, frameOf("t", "[1,2]"));
    const auto tool = world.open();
    change(world, sql);
    const RepairReport report = repair(*tool);
    CHECK(report.mended > 0);
    CHECK_FALSE(report.findings.empty());
    checkSound(world);
    CHECK(statsOf(world).recounts == 1);
    CHECK(enqueueOne(*agent, frameOf("t")).status == EnqueueStatus::stored);
    checkSound(world);
    CHECK(repair(*tool).mended == 0);
  }
}

TEST_CASE("P5: what an UPDATE made pending under a number that its session has passed is a dead letter again") {
  StoreWorld world;
  const auto store = world.open();
  failOne(*store, "s");
  enqueueOne(*store, frameOf("s"));
  REQUIRE(settleOne(*store, settlementOf(claimNew(*store), Transition::ack)));
  change(
      world,
      "UPDATE ackbox_outbox SET state=0; UPDATE ackbox_session_states SET previous_sequence=2, confirmed_sequence=2");
  const RepairReport report = repair(*store);
  CHECK(report.findings.front().find("dead letter again") != std::string::npos);
  CHECK(statsOf(world).failed == 1);
  CHECK(statsOf(world).pending == 0);
  checkSound(world);
}

TEST_CASE("a session that is blocked by what is no dead letter any more goes on after a repair") {
  StoreWorld world;
  const auto store = world.open();
  failOne(*store, "s");
  change(world,
         "UPDATE ackbox_sessions SET blocked_by=1, blocked_at_ms=1; DELETE FROM ackbox_outbox; "
         "UPDATE ackbox_counters SET failed=0; UPDATE ackbox_session_states SET failed=0");
  CHECK(repair(*store).mended == 1);
  checkSound(world);
}

TEST_CASE("P10: repair mends each row that a foreign statement made impossible, once, and no message is lost by it") {
  for (const char* sql : {
           "UPDATE ackbox_outbox SET reason='' WHERE state=4",
           "UPDATE ackbox_outbox SET due_at_ms=5 WHERE state=0 AND attempt=0",
           "UPDATE ackbox_outbox SET supersede_key='k' WHERE sequence=0",
           "UPDATE ackbox_sessions SET priority=77 WHERE lane=0",
           "UPDATE ackbox_sessions SET priority=3 WHERE lane<>0",
           "UPDATE ackbox_sessions SET blocked_at_ms=7",
           "UPDATE ackbox_sessions SET blocked_by=(SELECT id FROM ackbox_outbox WHERE state=4) WHERE name='dead'",
           "UPDATE ackbox_peers SET hold=1",
           "UPDATE ackbox_peers SET hold=9, down=1",
           "INSERT INTO ackbox_claims VALUES(0,4711,2)",
           "INSERT INTO ackbox_session_states VALUES(99,1,0,0,0,0,0,0,0)",
           "INSERT INTO ackbox_inbox(origin,session,sequence,frame_id,source,epoch,previous_sequence,deferred,owner_id,"
           "starts,retry_count,due_at_ms,started_at_ms,accepted_at_ms,type,data,checksum) "
           "VALUES('','',0,'f','urn:agent:x',1,0,1,"
           "98,0,0,0,0,1,'t','1',$)",
           "INSERT INTO ackbox_inbox(origin,session,sequence,frame_id,source,epoch,previous_sequence,deferred,owner_id,"
           "starts,retry_count,due_at_ms,started_at_ms,accepted_at_ms,type,data,checksum) "
           "VALUES('','',0,'f','urn:agent:x',1,0,1,"
           "0,1,1,0,0,1,'t','1',$)",
           "INSERT INTO ackbox_idempotency_keys VALUES('k',1,'',1,1,0)",
           "INSERT INTO ackbox_publications VALUES('k',0,1,'m',1)",
           "INSERT INTO ackbox_subscriptions VALUES('n',99,'*','',1)",
       }) {
    CAPTURE(std::string(sql));
    StoreWorld world;
    auto store = world.open();
    failOne(*store, "dead");
    enqueueOne(*store, frameOf("s"));
    enqueueOne(*store, frameOf(""));
    store.reset();
    change(world, withChecksum(sql));
    CHECK_FALSE(store::sqlite::verify(world.file, world.options).clean());
    store = world.open();
    CHECK(repair(*store).mended != 0);
    checkSound(world);
    CHECK(repair(*store).mended == 0);
    CHECK(statsOf(world).pending == 2);
    CHECK(statsOf(world).failed == 1);
  }
}

TEST_CASE("P5: repair puts a message back whose claim has no owner, as the end of the owner would") {
  StoreWorld world;
  auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  store.reset();
  change(world, "INSERT INTO ackbox_claims SELECT id>>6,4711,1<<(id&63) FROM ackbox_outbox");
  store = world.open();
  CHECK(repair(*store).mended != 0);
  store.reset();
  SQLite::Database file(world.file.string(), SQLite::OPEN_READONLY);
  CHECK(file.execAndGet("SELECT attempt FROM ackbox_outbox").getInt() == 1);
  CHECK(file.execAndGet("SELECT head_id=(SELECT id FROM ackbox_outbox) FROM ackbox_session_states").getInt() == 1);
}

TEST_CASE("repair does not say that it has mended a session whose lane is none") {
  StoreWorld world;
  auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  store.reset();
  change(world, "UPDATE ackbox_sessions SET lane=5000000000000");
  store = world.open();
  for (const std::string& finding : repair(*store).findings) {
    CHECK(finding.find("sessions") == std::string::npos);
  }
  CHECK_FALSE(store::sqlite::verify(world.file, world.options).clean());
}

}  // namespace recount_test
