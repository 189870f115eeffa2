// Goal: P3 P4: a process whose connection is lost goes on, and what it had in flight is put back: an answer that comes
// afterwards settles nothing, and the message goes before those behind it.
// Method: a store whose server process is ended between a claim and its settle.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "store/postgres/postgres_store.hpp"
#include "store_conformance/messages.hpp"
#include "support/postgres_database.hpp"

namespace lost_claims_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;
using store::postgres::PostgresStore;

namespace {

std::vector<delivery::MessageKey> keysOf(const store::NewRows& found) {
  std::vector<delivery::MessageKey> keys;
  for (const delivery::RowSeen& row : found.rows) {
    keys.push_back(row.key);
  }
  return keys;
}

}  // namespace

TEST_CASE("P3 P4: a message whose claim went with its connection is read again before the next of its session goes") {
  const PostgresDatabase database;
  PostgresStore store(database.location(), {});
  enqueueOne(store, frameOf("s"));
  enqueueOne(store, frameOf("s"));
  const std::vector<delivery::RowSeen> rows = store.discovery().take(10).rows;
  REQUIRE(rows.size() == 2);
  const store::ClaimReply first = claimOf(store, rows[0]);
  REQUIRE(first.messages.size() == 1);
  database.run("SELECT pg_terminate_backend(" + std::to_string(store.serverProcess()) + ", 10000)");
  Transition answer = Transition::ack;
  SUBCASE("accepted") {
    answer = Transition::ack;
  }
  SUBCASE("deferred") {
    answer = Transition::defer;
  }
  SUBCASE("refused for good") {
    answer = Transition::fail;
  }

  // The message is known to be in flight, so a run ignores that it is found once more.
  inTransaction(store, [] {});
  CHECK(keysOf(store.discovery().take(10)) == std::vector{rows[0].key, rows[1].key});
  CHECK_FALSE(settleOne(store, settlementOf(first, answer)));
  const store::ClaimReply early = claimOf(store, rows[1]);
  CHECK(early.messages.empty());
  CHECK(early.sessions.front().status == delivery::ClaimStatus::busy);

  const store::NewRows again = store.discovery().take(10);
  CHECK(keysOf(again) == std::vector{rows[0].key, rows[1].key});
  REQUIRE(again.recalls);
  const delivery::SessionClaim both{rows[0].session, {rows[0].key, rows[1].key}};
  const store::ClaimReply late = inTransaction(store, [&] { return store.claims().claim({&both, 1}, *again.recalls); });
  CHECK(late.messages.size() == 2);
}

TEST_CASE("P3: an unordered message whose claim went with its connection is found again, though an answer came") {
  const PostgresDatabase database;
  PostgresStore store(database.location(), {});
  enqueueOne(store, frameOf(""));
  const store::ClaimReply claim = claimNew(store);
  REQUIRE(claim.messages.size() == 1);
  database.run("SELECT pg_terminate_backend(" + std::to_string(store.serverProcess()) + ", 10000)");
  inTransaction(store, [] {});
  REQUIRE(store.discovery().take(10).rows.size() == 1);
  CHECK_FALSE(settleOne(store, settlementOf(claim, Transition::fail)));
  CHECK(store.discovery().take(10).rows.size() == 1);
}

}  // namespace lost_claims_test
