// Goal: what the inbox is asked of many rows at once, it answers for each as if it had been asked alone.
// Method: more rows than any store is likely to put into one statement, in all the states that a row can be in.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "store_conformance/inbound.hpp"
#include "store_conformance/world.hpp"

namespace inbox_sets_test {

using namespace ackbox;
using namespace ackbox::testing;
using Kind = store::InboxClaim::Kind;

constexpr std::size_t kRows = 133;

std::vector<store::InboxKey> acceptMany(store::Store& store) {
  std::vector<store::InboxKey> keys;
  for (std::size_t index = 0; index < kRows; ++index) {
    keys.push_back(acceptFrame(store, inboundFrame(1, "s" + std::to_string(index))));
  }
  return keys;
}

std::vector<store::InboxClaim> claimRows(store::Store& store, const std::vector<store::InboxKey>& keys) {
  return inTransaction(store, [&] { return store.inbox().claim(keys, std::chrono::hours(1)); });
}

TEST_CASE("P7: of many rows each is claimed by itself, and the answers come in the order of the question") {
  World world;
  const auto store = world.open();
  const auto other = world.open();
  std::vector<store::InboxKey> keys = acceptMany(*store);
  REQUIRE(claimRow(*other, keys[3]).kind == Kind::taken);
  REQUIRE(claimRow(*store, keys[70]).kind == Kind::taken);
  const WallTime later = world.clock->wallNow() + std::chrono::seconds(5);
  retryRow(*store, keys[70], later, "boom");
  REQUIRE(claimRow(*store, keys[131]).kind == Kind::taken);
  finishRow(*store, claimRow(*store, keys[132]).row, resultOf(Outcome::ack));
  std::swap(keys[0], keys[90]);
  const std::vector<store::InboxClaim> claims = claimRows(*store, keys);
  REQUIRE(claims.size() == kRows);
  for (std::size_t index = 0; index < kRows; ++index) {
    CAPTURE(index);
    const Kind wanted = index == 3 ? Kind::busy : index == 70 ? Kind::notDue : index == 132 ? Kind::gone : Kind::taken;
    REQUIRE(claims[index].kind == wanted);
    if (wanted == Kind::taken) {
      CHECK(claims[index].row.key == keys[index]);
      CHECK(claims[index].row.starts == (index == 131 ? 2U : 1U));
      const std::size_t named = index == 0 ? 90 : index == 90 ? 0 : index;
      CHECK(claims[index].row.frame.session == "s" + std::to_string(named));
    }
  }
  CHECK(claims[70].dueAt == later);
  CHECK(claimRow(*other, keys[90]).kind == Kind::busy);
  CHECK(claimRow(*store, keys[90]).row.starts == 2);
  CHECK(claimRow(*other, keys[3]).row.starts == 2);
  CHECK(claimRows(*store, {}).empty());
  CHECK(world.problems() == "");
}

TEST_CASE("P5: of many claims those are held that no later claim has replaced, nor another process") {
  World world;
  auto store = world.open();
  const auto other = world.open();
  const std::vector<store::InboxKey> keys = acceptMany(*store);
  std::vector<store::InboxStart> starts;
  for (const store::InboxClaim& claim : claimRows(*store, keys)) {
    starts.push_back({claim.row.key, claim.row.starts});
  }
  REQUIRE(claimRow(*store, keys[40]).kind == Kind::taken);
  finishRow(*store, claimRow(*store, keys[41]).row, resultOf(Outcome::ack));
  releaseRow(*store, keys[100]);
  REQUIRE(claimRow(*other, keys[100]).kind == Kind::taken);
  const auto held = [&](store::Store& asked) {
    std::string missing;
    const std::vector<bool> each = inTransaction(asked, [&] { return asked.inbox().holds(starts); });
    for (std::size_t index = 0; index < each.size(); ++index) {
      missing += each[index] ? "" : std::to_string(index) + " ";
    }
    return missing;
  };
  CHECK(held(*store) == "40 41 100 ");
  world.crash(*store);
  inTransaction(*other, [&] { other->owners().releaseDead(); });
  // Only thought dead, it completes nothing.
  const std::vector<bool> each = inTransaction(*store, [&] { return store->inbox().holds(starts); });
  CHECK(std::ranges::count(each, true) == 0);
}

TEST_CASE("P5: many rows end in one commit, with what each of them leaves; a release and a retry free theirs") {
  World world;
  const auto store = world.open();
  const std::vector<store::InboxKey> keys = acceptMany(*store);
  std::vector<store::InboxClaim> claims = claimRows(*store, keys);
  const FrameResult plain = resultOf(Outcome::ack);
  const FrameResult rejected = resultOf(Outcome::term, "no-such");
  const FrameResult answered = resultOf(Outcome::ack, "", "7");
  std::vector<store::InboxEnding> ends;
  for (std::size_t index = 0; index < 130; ++index) {
    ends.push_back({&claims[index].row, index == 5 ? &rejected : index == 64 ? &answered : &plain});
  }
  const std::vector<store::InboxRetry> retries = {{keys[130], world.clock->wallNow() + std::chrono::minutes(1), "one"},
                                                  {keys[131], world.clock->wallNow() + std::chrono::minutes(2), "two"}};
  inTransaction(*store, [&] {
    store->inbox().finish(ends, kOutcomeRetention);
    store->inbox().retry(retries);
    store->inbox().release({&keys[132], 1});
  });
  CHECK(world.stats().inbox == 3);
  CHECK(world.stats().received == 129);
  CHECK(world.problems() == "");
  for (std::size_t index = 0; index < 130; ++index) {
    CAPTURE(index);
    CHECK(claimRow(*store, keys[index]).kind == Kind::gone);
    const std::optional<FrameResult> kept = answerTo(*store, claims[index].row.frame);
    CHECK(kept.has_value() == (index == 5 || index == 64));
    if (kept) {
      CHECK(kept->code == (index == 5 ? "no-such" : ""));
      CHECK(kept->result == (index == 64 ? "7" : ""));
    }
  }
  CHECK(claimRow(*store, keys[130]).dueAt == retries[0].dueAt);
  CHECK(claimRow(*store, keys[131]).dueAt == retries[1].dueAt);
  CHECK(world.reader()->findInbox("urn:peer", claims[131].row.frame.id)->lastError == "two");
  CHECK(claimRow(*store, keys[132]).row.retryCount == 0);
}

TEST_CASE("P5: where a row is gone that is said to be held, none of the set ends") {
  World world;
  const auto store = world.open();
  const std::vector<store::InboxKey> keys = acceptMany(*store);
  std::vector<store::InboxClaim> claims = claimRows(*store, keys);
  const FrameResult plain = resultOf(Outcome::ack);
  std::vector<store::InboxEnding> ends;
  for (const store::InboxClaim& claim : claims) {
    ends.push_back({&claim.row, &plain});
  }
  finishRow(*store, claims[99].row, plain);
  store->begin(false);
  CHECK_THROWS_AS(store->inbox().finish(ends, kOutcomeRetention), Error);
  store->rollback();
  CHECK(world.stats().inbox == kRows - 1);
  CHECK(world.stats().received == 1);
  CHECK(world.problems() == "");
}

}  // namespace inbox_sets_test
