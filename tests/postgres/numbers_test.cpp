// Goal: P4: what a transaction has gathered and not written yet counts where it reads.
// Method: one transaction settles the only message of a session and enqueues the next one, as a group of jobs does; the
// claim has ended before, or not.

#include <doctest/doctest.h>

#include "store/postgres/postgres_store.hpp"
#include "support/postgres_database.hpp"

namespace numbers_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::PostgresStore;

namespace {

/// Of the first message that was claimed.
delivery::Settlement ackOf(const store::ClaimReply& claimed) {
  delivery::Settlement settlement;
  settlement.key = claimed.sessions.front().rows.front().key;
  settlement.session = claimed.sessions.front().session;
  settlement.attempt = claimed.sessions.front().rows.front().attempt;
  settlement.transition = delivery::Transition::ack;
  return settlement;
}

}  // namespace

TEST_CASE("P4: the number of a message that the same transaction has settled is not given again") {
  const PostgresDatabase database;
  PostgresStore store(database.location(), {});
  Frame frame;
  frame.session = "s";
  frame.type = "test";
  frame.data = "{}";
  for (const bool hasEnded : {false, true}) {
    CAPTURE(hasEnded);
    store.begin(true);
    const EnqueueReceipt first = store.outbox().enqueue(frame);
    store.commit();
    const store::NewRows fresh = store.discovery().take(10);
    REQUIRE(fresh.rows.size() == 1);
    const delivery::RowSeen& row = fresh.rows.front();
    const delivery::SessionClaim wanted{row.session, {row.key}};
    store.begin(false);
    const store::ClaimReply claimed = store.claims().claim({&wanted, 1});
    store.commit();
    REQUIRE(claimed.sessions.front().rows.size() == 1);

    const delivery::Settlement settlement = ackOf(claimed);
    const delivery::SessionRelease release{.session = row.session, .previousSequence = first.sequence};
    store.begin(true);
    CHECK(store.settles().settle({&settlement, 1}).front().has_value());
    if (hasEnded) {
      store.claims().endClaims({&release, 1});
    }
    const EnqueueReceipt second = store.outbox().enqueue(frame);
    CHECK(second.sequence == first.sequence + 1);
    if (!hasEnded) {
      store.claims().endClaims({&release, 1});
    }
    store.commit();
    // Nothing is left for the next turn.
    const store::NewRows next = store.discovery().take(10);
    REQUIRE(next.rows.size() == 1);
    const delivery::SessionClaim last{row.session, {next.rows.front().key}};
    store.begin(false);
    const store::ClaimReply again = store.claims().claim({&last, 1});
    REQUIRE(again.sessions.front().rows.size() == 1);
    CHECK(again.sessions.front().previousSequence == first.sequence);
    const delivery::Settlement rest = ackOf(again);
    store.settles().settle({&rest, 1});
    const delivery::SessionRelease end{.session = row.session, .previousSequence = second.sequence};
    store.claims().endClaims({&end, 1});
    store.commit();
  }
}

}  // namespace numbers_test
