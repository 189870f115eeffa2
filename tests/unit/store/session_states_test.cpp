// Goal: what moves of sessions is kept in memory and written once a commit, and neither the file nor anybody who reads
// it ever says anything else than it would say if each change were written at once. Method: as many sessions as the
// ways of writing tell apart, and each way in which memory and file could part.

#include "store/sqlite/cache/session_states.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "store/sqlite/peers/holds.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"

namespace ackbox::testing::session_states_test {
namespace {

std::string findingsOf(const StoreWorld& world) {
  std::string text;
  for (const Finding& finding : store::sqlite::verify(world.file, world.options).findings) {
    text += finding.table + " " + std::to_string(finding.row) + ": " + finding.problem + "\n";
  }
  return text;
}

// Acknowledges what was claimed and lets its sessions go, in the transaction under way.
void finish(store::sqlite::SqliteStore& store, const store::ClaimReply& reply) {
  for (std::size_t session = 0; session < reply.sessions.size(); ++session) {
    const delivery::Settlement settlement = settlementOf(reply, delivery::Transition::ack, session);
    REQUIRE(store.settles().settle({&settlement, 1}).front());
    delivery::SessionRelease release;
    release.session = settlement.session;
    release.previousSequence = reply.sessions.at(session).rows.front().sequence;
    release.dueAt = WallTime(std::chrono::milliseconds(settlement.session));
    store.claims().endClaims({&release, 1});
  }
}

store::ClaimReply claimOneEach(store::sqlite::SqliteStore& store, std::size_t sessions) {
  inTransaction(store, [&] {
    for (std::size_t session = 0; session < sessions; ++session) {
      static_cast<void>(store.outbox().enqueue(frameOf("s" + std::to_string(session))));
    }
  });
  return claimNew(store);
}

std::int64_t numberOf(const StoreWorld& world, const std::string& sql) {
  SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
  return database.execAndGet(sql).getInt64();
}

}  // namespace

TEST_CASE("however many sessions a commit changes, each is written") {
  for (const std::size_t sessions : {1U, 15U, 16U, 17U, 33U}) {
    CAPTURE(sessions);
    const StoreWorld world;
    const auto store = world.open();
    const store::ClaimReply reply = claimOneEach(*store, sessions);
    REQUIRE(reply.sessions.size() == sessions);
    inTransaction(*store, [&] { finish(*store, reply); });
    CHECK(numberOf(world,
                   "SELECT count(*) FROM ackbox_session_states WHERE last_sequence=1 AND previous_sequence=1 AND "
                   "confirmed_sequence=1 AND live=0 AND failed=0 AND due_at_ms=session_id AND due_is_firm=0") ==
          static_cast<std::int64_t>(sessions));
    CHECK(findingsOf(world).empty());
  }
}

TEST_CASE("an undone scope takes nothing back of what moved before it") {
  const StoreWorld world;
  const auto store = world.open();
  const store::ClaimReply reply = claimOneEach(*store, 2);
  store->begin(false);
  finish(*store, reply);
  store->savepoint();
  static_cast<void>(store->outbox().enqueue(frameOf("s0")));
  static_cast<void>(store->outbox().enqueue(frameOf("of the scope")));
  store->rollbackToSavepoint();
  store->commit();
  CHECK(numberOf(world, "SELECT sum(previous_sequence) FROM ackbox_session_states") == 2);
  CHECK(numberOf(world, "SELECT count(*) FROM ackbox_session_states") == 2);
  CHECK(findingsOf(world).empty());
}

TEST_CASE("what was rolled back has not moved, in memory either") {
  const StoreWorld world;
  const auto store = world.open();
  const store::ClaimReply reply = claimOneEach(*store, 1);
  store->begin(false);
  finish(*store, reply);
  store->rollback();
  CHECK(numberOf(world, "SELECT previous_sequence FROM ackbox_session_states") == 0);
  inTransaction(*store, [&] { finish(*store, reply); });
  CHECK(numberOf(world, "SELECT previous_sequence+last_sequence FROM ackbox_session_states") == 2);
  CHECK(numberOf(world, "SELECT live FROM ackbox_session_states") == 0);
  CHECK(findingsOf(world).empty());
}

TEST_CASE("a session whose state was taken away is told of, and costs the others nothing") {
  const StoreWorld world;
  const auto store = world.open();
  const store::ClaimReply reply = claimOneEach(*store, 2);
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE)
      .exec("DELETE FROM ackbox_session_states WHERE session_id=1");
  std::string told;
  store->begin(false);
  try {
    finish(*store, reply);
    store->commit();
  } catch (const Error& error) {
    CHECK(error.code() == Errc::databaseCorrupt);
    told = error.what();
    store->rollback();
  }
  CHECK(told.find("the state of session 1 is missing") != std::string::npos);
  CHECK(enqueueOne(*store, frameOf("s1")).sequence == 2);
  CHECK_THROWS_WITH_AS(inTransaction(*store, [&] { static_cast<void>(store->outbox().enqueue(frameOf("s0"))); }),
                       doctest::Contains("the state of session 1 is missing"), Error);
  store->rollback();
  CHECK(findingsOf(world).find("ackbox_sessions 1: its state is missing") != std::string::npos);
}

TEST_CASE("P4: a session of which other SQL has spoilt the numbers is told of: SQLite would begin again at 0") {
  for (const char* column : {"last_sequence", "previous_sequence", "confirmed_sequence", "head_id"}) {
    for (const char* value : {"x'01'", "'many'"}) {
      CAPTURE(std::string(column));
      CAPTURE(std::string(value));
      StoreWorld world;
      enqueueOne(*world.open(), frameOf("s0"));
      SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE)
          .exec("UPDATE ackbox_session_states SET " + std::string(column) + "=" + value + " WHERE session_id=1");
      const auto store = world.open();
      if (std::string_view(column) == "last_sequence") {
        CHECK_THROWS_WITH_AS(inTransaction(*store, [&] { static_cast<void>(store->outbox().enqueue(frameOf("s0"))); }),
                             doctest::Contains("the last number of session 1 is out of range"), Error);
        store->rollback();
      }
      CHECK(enqueueOne(*store, frameOf("s1")).sequence == 1);
      CHECK_THROWS_WITH_AS(claimNew(*store),
                           doctest::Contains("the state of session 1 holds a value that is not a number"), Error);
      store->rollback();
      CHECK(findingsOf(world).find("ackbox_session_states 1: " + std::string(column) + " is no integer") !=
            std::string::npos);
    }
  }
}

TEST_CASE("what moved in the commit in which its peer is found to have forgotten everything is kept") {
  const StoreWorld world;
  const auto store = world.open();
  const store::ClaimReply reply = claimOneEach(*store, 1);
  inTransaction(*store, [&] {
    finish(*store, reply);
    delivery::PeerIdentity identity;
    identity.peer = store->peers().rows().front().key;
    identity.session = reply.sessions.front().session;
    identity.store = "another";
    identity.storeEpoch = 1;
    identity.found = PeerResetKind::peerLost;
    REQUIRE(store->peerResets().recordIdentity(identity));
  });
  CHECK(numberOf(world,
                 "SELECT count(*) FROM ackbox_session_states WHERE last_sequence=1 AND previous_sequence=0 AND "
                 "confirmed_sequence=1 AND live=0 AND due_at_ms=session_id") == 1);
  CHECK(findingsOf(world).empty());
}

TEST_CASE("the hint at a session's first live message stays where that message still is") {
  const StoreWorld world;
  auto store = world.open();
  const store::ClaimReply reply = claimOneEach(*store, 1);
  inTransaction(*store, [&] {
    const delivery::Settlement settlement = settlementOf(reply, delivery::Transition::retry);
    REQUIRE(store->settles().settle({&settlement, 1}).front());
    delivery::SessionRelease release;
    release.session = settlement.session;
    store->claims().endClaims({&release, 1});
  });
  const std::string head = "SELECT head_id FROM ackbox_session_states";
  CHECK(numberOf(world, head) == 1);
  // It was sent, and nothing says that it has arrived.
  CHECK(numberOf(world, "SELECT confirmed_sequence FROM ackbox_session_states") == 0);
  enqueueOne(*store, frameOf("s0"));
  store = nullptr;
  CHECK(numberOf(world, "SELECT live FROM ackbox_session_states") == 2);
  CHECK(numberOf(world, head) == 1);
}

TEST_CASE("a release says where a session's first live message is, or leaves it as it was") {
  const StoreWorld world;
  const auto store = world.open();
  const store::ClaimReply reply = claimOneEach(*store, 2);
  inTransaction(*store, [&] {
    delivery::SessionRelease release;
    release.session = reply.sessions.front().session;
    release.head = 7;
    store->claims().endClaims({&release, 1});
    release.session = reply.sessions.back().session;
    release.head = 0;
    store->claims().endClaims({&release, 1});
  });
  CHECK(numberOf(world, "SELECT head_id FROM ackbox_session_states WHERE session_id=1") == 7);
  CHECK(numberOf(world, "SELECT head_id FROM ackbox_session_states WHERE session_id=2") == 2);
}

TEST_CASE("a session that is paused before its first message has a state") {
  const StoreWorld world;
  const auto store = world.open();
  inTransaction(*store, [&] { store->holds().pauseSession("default", "later"); });
  CHECK(numberOf(world, "SELECT count(*) FROM ackbox_session_states") == 1);
  CHECK(enqueueOne(*store, frameOf("later")).sequence == 1);
  CHECK(findingsOf(world).empty());
}

TEST_CASE("who opens the file takes a dead owner's claims away, and nothing says that its peer has what they are of") {
  StoreWorld world;
  world.lives = std::make_shared<Lives>();
  const auto dead = world.open();
  static_cast<void>(claimOneEach(*dead, 1));
  world.lives->erase(dead->owner());
  const auto store = world.open();
  CHECK(numberOf(world, "SELECT count(*) FROM ackbox_claims") == 0);
  CHECK(numberOf(world, "SELECT head_id FROM ackbox_session_states") == 1);
  CHECK(numberOf(world, "SELECT confirmed_sequence FROM ackbox_session_states") == 0);
}

}  // namespace ackbox::testing::session_states_test
