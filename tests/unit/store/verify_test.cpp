// Goal: P10: verify finds each broken invariant and names table and row; a file that the store wrote has none.
// Method: a file with a message in every state, broken by one SQL statement at a time.

#include "store/verify.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "store_world.hpp"

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;

namespace {

/// Rows 1 FAILED, 2 SENT, 3 SENDING in session 1; row 4 PENDING in session 2.
struct File {
  File() : store(world.open()) {
    for (const char* session : {"s", "s", "s"}) {
      enqueueOne(*store, frameOf(session));
    }
    const store::ClaimReply reply = claimNew(*store);
    auto failed = settlementOf(reply, Transition::fail, 0, 0);
    failed.reason = "rejected";
    REQUIRE(settleOne(*store, failed));
    REQUIRE(settleOne(*store, settlementOf(reply, Transition::defer, 0, 1)));
    enqueueOne(*store, frameOf("t"));
  }

  void breakWith(const std::string& sql) { SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec(sql); }
  VerifyReport verify() const { return store::verify(world.file, world.options); }

  StoreWorld world;
  std::unique_ptr<store::Store> store;
};

struct Break {
  const char* sql;
  const char* table;
  std::int64_t row;
};

constexpr Break kBreaks[] = {
    {"UPDATE ackbox_counters SET pending=pending+1", "ackbox_counters", 1},
    {"UPDATE ackbox_counters SET sent=7", "ackbox_counters", 1},
    {"UPDATE ackbox_counters SET failed=0", "ackbox_counters", 1},
    {"UPDATE ackbox_counters SET pending_bytes=-1", "ackbox_counters", 1},
    {"UPDATE ackbox_counters SET tails_key=last_key+1", "ackbox_counters", 1},
    {"UPDATE ackbox_counters SET tails_key=-1", "ackbox_counters", 1},
    {"DELETE FROM ackbox_counters", "ackbox_counters", 0},
    {"DELETE FROM ackbox_meta", "ackbox_meta", 0},
    {"UPDATE ackbox_outbox SET sequence=2 WHERE id=3", "ackbox_outbox", 3},
    {"UPDATE ackbox_counters SET last_key=0", "ackbox_outbox", 1},
    {"UPDATE ackbox_counters SET last_key=2", "ackbox_counters", 1},
    {"UPDATE ackbox_claims SET owner_id=99 WHERE block=0", "ackbox_claims", 0},
    {"UPDATE ackbox_claims SET bits=bits|1<<9 WHERE block=0", "ackbox_claims", 0},
    {"UPDATE ackbox_claims SET bits=bits|1<<63 WHERE block=0", "ackbox_claims", 0},
    {"UPDATE ackbox_claims SET bits=bits|1<<1 WHERE block=0", "ackbox_claims", 0},
    {"INSERT INTO ackbox_owners SELECT 99,0,0; INSERT INTO ackbox_claims SELECT block,99,bits FROM ackbox_claims "
     "WHERE block=0",
     "ackbox_claims", 0},
    {"UPDATE ackbox_claims SET owner_id=99 WHERE block=-1", "ackbox_claims", -1},
    {"UPDATE ackbox_claims SET bits=bits|1<<9 WHERE block=-1", "ackbox_claims", -1},
    {"UPDATE ackbox_claims SET bits=bits|1<<63 WHERE block=-1", "ackbox_claims", -1},
    {"INSERT INTO ackbox_owners SELECT 99,0,0; INSERT INTO ackbox_claims SELECT block,99,bits FROM ackbox_claims "
     "WHERE block=-1",
     "ackbox_claims", -1},
    {"UPDATE ackbox_outbox SET reason=NULL WHERE id=1", "ackbox_outbox", 1},
    {"UPDATE ackbox_outbox SET session_id=77 WHERE id=4", "ackbox_outbox", 4},
    {"UPDATE ackbox_outbox SET state=9 WHERE id=4", "ackbox_outbox", 4},
    {"UPDATE ackbox_session_states SET previous_sequence=1 WHERE session_id=2", "ackbox_outbox", 4},
    {"UPDATE ackbox_session_states SET previous_sequence=9 WHERE session_id=1", "ackbox_session_states", 1},
    {"UPDATE ackbox_session_states SET previous_sequence=3, offered_sequence=2 WHERE session_id=1",
     "ackbox_session_states", 1},
    {"UPDATE ackbox_session_states SET offered_sequence=4 WHERE session_id=1", "ackbox_session_states", 1},
    {"UPDATE ackbox_sessions SET recall=1 WHERE id=2", "ackbox_sessions", 2},
    {"UPDATE ackbox_peers SET resets=1", "ackbox_peers", 1},
    {"INSERT INTO ackbox_inbound_sessions(id,source,origin,session,accepted_sequence,epoch,gaps,updated_at_ms) "
     "VALUES(7,'urn:a','o','s',1,1,0,0)",
     "ackbox_inbound_sessions", 7},
    {"UPDATE ackbox_session_states SET last_sequence=2 WHERE session_id=1", "ackbox_session_states", 1},
    {"DELETE FROM ackbox_session_states WHERE session_id=2", "ackbox_sessions", 2},
    {"INSERT INTO ackbox_session_states VALUES(99,0,0,0,0,0,0,0,0)", "ackbox_session_states", 99},
    {"UPDATE ackbox_sessions SET peer_id=99 WHERE id=2", "ackbox_sessions", 2},
};

}  // namespace

TEST_CASE("P10: a file with messages in every state has no findings, and SQLite's version is told") {
  const File file;
  const VerifyReport report = file.verify();
  for (const Finding& finding : report.findings) {
    FAIL_CHECK(finding.table << " " << finding.row << ": " << finding.problem);
  }
  CHECK(report.sqliteVersion == SQLite::getLibVersion());
}

TEST_CASE("P10: each broken invariant is found, with its table and row") {
  for (const Break& one : kBreaks) {
    CAPTURE(one.sql);
    File file;
    file.breakWith(one.sql);
    const VerifyReport report = file.verify();
    bool found = false;
    for (const Finding& finding : report.findings) {
      found = found || (finding.table == one.table && finding.row == one.row && !finding.problem.empty());
    }
    CHECK(found);
  }
}

TEST_CASE("P10: an index that lacks its rows is SQLite's own finding") {
  File file;
  file.breakWith(
      "PRAGMA writable_schema=ON; CREATE TABLE other(a); CREATE INDEX other_a ON other(a); "
      "UPDATE sqlite_master SET rootpage=(SELECT rootpage FROM sqlite_master WHERE name='other_a') "
      "WHERE name='ackbox_outbox_failed'");
  const VerifyReport report = file.verify();
  REQUIRE_FALSE(report.clean());
  CHECK(report.findings[0].table.empty());
}
