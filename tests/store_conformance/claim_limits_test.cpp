// Goal: a claim gives no more than it may, in bytes (P11) and in messages, and what it does not give stays where it
// was, in its order, for this process and for others (P4). Method: two handles on one store; one of them delivers
// messages that the other one names.

#include <doctest/doctest.h>

#include <limits>

#include "delivery/types.hpp"
#include "store_conformance/world.hpp"

namespace claim_limits_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::ClaimStatus;
using delivery::Transition;

namespace {

constexpr std::int64_t kAnyRecall = std::numeric_limits<std::int64_t>::max();

store::ClaimReply claimAtMost(store::Store& store, const std::vector<delivery::SessionClaim>& asked,
                              std::size_t frames) {
  return inTransaction(store, [&] {
    return store.claims().claim(asked, kAnyRecall, std::numeric_limits<std::uint64_t>::max(), frames);
  });
}

/// Acknowledges all that one claim of one session, or message, gave.
void deliver(store::Store& store, const store::ClaimReply& claimed) {
  const delivery::SessionClaimed& session = claimed.sessions.front();
  const delivery::SessionRelease released{
      .session = session.session, .dueAt = {}, .previousSequence = session.rows.back().sequence};
  inTransaction(store, [&] {
    for (std::size_t row = 0; row < session.rows.size(); ++row) {
      const auto acked = settlementOf(claimed, Transition::ack, 0, row);
      store.settles().settle({&acked, 1});
    }
    if (!delivery::isUnit(session.session)) {
      store.claims().endClaims({&released, 1});
    }
  });
}

}  // namespace

TEST_CASE("P11: a claim brings no more bytes than it may, but for the first message, and leaves the rest free") {
  const World world;
  auto store = world.open();
  const std::string data = "\"" + std::string(100'000, 'x') + "\"";
  for (int row = 0; row < 40; ++row) {
    enqueueOne(*store, frameOf(row < 20 ? "a" : "b", data));
  }
  store = nullptr;
  store = world.open();
  std::vector<delivery::SessionClaim> asked;
  for (const delivery::RowSeen& row : store->discovery().take(100).rows) {
    if (asked.empty() || asked.back().session != row.session) {
      asked.push_back({.session = row.session, .keys = {}});
    }
    asked.back().keys.push_back(row.key);
  }
  REQUIRE(asked.size() == 2);
  const store::ClaimReply reply =
      inTransaction(*store, [&] { return store->claims().claim(asked, kAnyRecall, 500'000); });
  CHECK(reply.messages.size() == 4);
  CHECK(reply.bytes <= 500'000);
  REQUIRE(reply.sessions.size() == 2);
  CHECK(reply.sessions[0].status == ClaimStatus::claimed);
  CHECK(reply.sessions[0].rows.size() == 4);
  CHECK(reply.sessions[1].status == ClaimStatus::full);
  CHECK(reply.sessions[1].rows.empty());
  // The other session is free, and the first row goes whatever its size.
  const std::vector<delivery::SessionClaim> second{asked[1]};
  CHECK(inTransaction(*store, [&] { return store->claims().claim(second, kAnyRecall, 1); }).messages.size() == 1);
}

TEST_CASE("P4: a claim that names more than it may take gives the first that wait, and leaves the rest free") {
  bool isRetained = false;
  SUBCASE("those before them are gone") {}
  SUBCASE("those before them are retained, or dead letters") {
    isRetained = true;
  }
  World world;
  world.options.ackedRetention = std::chrono::hours(isRetained ? 1 : 0);
  const auto store = world.open();
  const auto other = world.open();
  for (int row = 0; row < 8; ++row) {
    enqueueOne(*store, frameOf("a"));
  }
  enqueueOne(*store, frameOf("b"));
  const std::vector<delivery::RowSeen> rows = store->discovery().take(100).rows;
  REQUIRE(rows.size() == 9);
  delivery::SessionClaim longer{.session = rows.front().session, .keys = {}};
  for (std::size_t row = 0; row < 8; ++row) {
    longer.keys.push_back(rows[row].key);
  }
  const delivery::SessionClaim shorter{.session = rows.back().session, .keys = {rows.back().key}};
  // The other process delivers the first three.
  const store::ClaimReply before =
      claimOf(*other, delivery::SessionClaim{longer.session, {longer.keys.begin(), longer.keys.begin() + 3}});
  REQUIRE(before.messages.size() == 3);
  if (isRetained) {
    const auto failed = settlementOf(before, Transition::fail);
    settleOne(*other, failed);
  }
  deliver(*other, before);

  const std::vector<delivery::SessionClaim> asked{longer, shorter};
  const store::ClaimReply reply = claimAtMost(*store, asked, 2);
  REQUIRE(reply.sessions.size() == 2);
  CHECK(reply.sessions[0].status == ClaimStatus::claimed);
  REQUIRE(reply.sessions[0].rows.size() == 2);
  CHECK(reply.sessions[0].rows[0].key == longer.keys[3]);
  CHECK(reply.sessions[0].rows[1].key == longer.keys[4]);
  CHECK(reply.messages.size() == 2);
  CHECK(reply.sessions[1].status == ClaimStatus::full);
  // The other process may have the session that there was no room for, and finds this one's where it is.
  CHECK(claimOf(*other, shorter).messages.size() == 1);
  CHECK(claimOf(*other, longer).sessions.at(0).status == ClaimStatus::busy);
  // What was named and not taken is nobody's.
  CHECK(world.reader()->stats().sending == 3);
}

TEST_CASE("P4: of what a claim names, all gone is none claimed, and the session is free") {
  const World world;
  const auto store = world.open();
  const auto other = world.open();
  for (int row = 0; row < 4; ++row) {
    enqueueOne(*store, frameOf("a"));
  }
  const store::ClaimReply before = claimNew(*other);
  delivery::SessionClaim asked{before.sessions.at(0).session, {}};
  for (const delivery::ClaimedRow& row : before.sessions.at(0).rows) {
    asked.keys.push_back(row.key);
  }
  REQUIRE(asked.keys.size() == 4);
  CHECK(claimAtMost(*store, {asked}, 1).sessions.at(0).status == ClaimStatus::busy);
  deliver(*other, before);
  enqueueOne(*other, frameOf("a"));
  const store::ClaimReply reply = claimAtMost(*store, {asked}, 1);
  CHECK(reply.sessions.at(0).status == ClaimStatus::claimed);
  CHECK(reply.sessions.at(0).rows.empty());
  CHECK(claimNew(*other).messages.size() == 1);
}

TEST_CASE("P4: a claim of more unordered messages than it may take passes over those that another process has") {
  const World world;
  const auto store = world.open();
  const auto other = world.open();
  std::vector<delivery::SessionClaim> asked;
  for (int row = 0; row < 6; ++row) {
    enqueueOne(*store, frameOf(""));
  }
  for (const delivery::RowSeen& row : store->discovery().take(100).rows) {
    asked.push_back({.session = delivery::unitOf(row.key), .keys = {row.key}});
  }
  REQUIRE(asked.size() == 6);
  REQUIRE(claimOf(*other, asked[0]).messages.size() == 1);
  deliver(*other, claimOf(*other, asked[1]));
  const store::ClaimReply reply = claimAtMost(*store, asked, 2);
  const ClaimStatus expected[] = {ClaimStatus::busy,    ClaimStatus::claimed, ClaimStatus::claimed,
                                  ClaimStatus::claimed, ClaimStatus::full,    ClaimStatus::full};
  for (std::size_t unit = 0; unit < 6; ++unit) {
    CAPTURE(unit);
    CHECK(reply.sessions[unit].status == expected[unit]);
    CHECK(reply.sessions[unit].rows.size() == (unit == 2 || unit == 3 ? 1 : 0));
  }
  CHECK(claimOf(*other, asked[4]).messages.size() == 1);
}

}  // namespace claim_limits_test
