// Goal: P7, what a process had in flight is back in play as soon as it is dead, never while it lives; sessions in
// backoff or in flight elsewhere are not taken.
// Method: several stores on one file, with kernel locks or with lives that the test ends.

#include <doctest/doctest.h>

#include "delivery/types.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store_world.hpp"

namespace ownership_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::ClaimStatus;
using delivery::Transition;

namespace {

store::ClaimReply claim(store::sqlite::SqliteStore& store, const delivery::SessionClaim& wanted) {
  return inTransaction(store, [&] { return store.claims().claim({&wanted, 1}); });
}

delivery::SessionClaim wantedOf(const store::ClaimReply& reply) {
  delivery::SessionClaim wanted{reply.sessions.at(0).session, {}};
  for (const delivery::ClaimedRow& row : reply.sessions.at(0).rows) {
    wanted.keys.push_back(row.key);
  }
  return wanted;
}

}  // namespace

TEST_CASE(
    "row 2, P7: a session in flight in a live process is busy, and is taken over once that process closed its store") {
  StoreWorld world;
  auto first = world.open();
  const auto second = world.open();
  enqueueOne(*first, frameOf("s"));
  enqueueOne(*first, frameOf("s"));
  const auto wanted = wantedOf(claimNew(*first));
  CHECK(wanted.keys.size() == 2);
  CHECK(claim(*second, wanted).sessions.at(0).status == ClaimStatus::busy);
  CHECK_FALSE(second->owners().anyDead());
  CHECK(second->owners().shared());

  first.reset();
  CHECK_FALSE(second->owners().anyDead());
  CHECK_FALSE(second->owners().shared());
  const auto reply = claim(*second, wanted);
  CHECK(reply.sessions.at(0).status == ClaimStatus::claimed);
  CHECK(reply.sessions.at(0).rows.at(0).attempt == 2);
  CHECK(reply.sessions.at(0).rows.at(0).retryCount == 0);
}

TEST_CASE("row 14, P7: the rows of a dead owner are put back without a charge, and its late settle is refused") {
  StoreWorld world;
  world.lives = std::make_shared<Lives>();
  const auto first = world.open();
  const std::int64_t firstOwner = *world.lives->begin();
  const auto second = world.open();
  enqueueOne(*first, frameOf("s"));
  const auto lost = claimNew(*first);
  CHECK(inTransaction(*second, [&] { return second->owners().releaseDead(); }) == 0);

  world.lives->erase(firstOwner);
  CHECK(second->owners().anyDead());
  CHECK(inTransaction(*second, [&] { return second->owners().releaseDead(); }) == 1);
  const store::sqlite::SqliteReader reader(world.file, world.options);
  CHECK(reader.stats().pending == 1);
  CHECK(reader.stats().sending == 0);
  CHECK(claim(*second, wantedOf(lost)).sessions.at(0).status == ClaimStatus::claimed);
  CHECK_FALSE(settleOne(*first, settlementOf(lost, Transition::ack)));
  CHECK(reader.stats().sending == 1);
}

TEST_CASE("row 14: of a row that its holder claims twice, only the second claim settles it, once") {
  StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  const auto first = claimNew(*store);
  const auto second = claim(*store, wantedOf(first));
  REQUIRE(second.sessions.at(0).rows.size() == 1);
  CHECK(second.sessions.at(0).rows.at(0).attempt == 2);
  const store::sqlite::SqliteReader reader(world.file, world.options);
  for (const Transition late : {Transition::ack, Transition::fail, Transition::retry, Transition::release}) {
    CHECK_FALSE(settleOne(*store, settlementOf(first, late)));
    CHECK(reader.stats().sending == 1);
  }
  CHECK(reader.stats().staleSettles == 4);
  CHECK(settleOne(*store, settlementOf(second, Transition::ack)));
  CHECK_FALSE(settleOne(*store, settlementOf(second, Transition::ack)));
  CHECK(reader.stats().acked == 1);
}

TEST_CASE("row 14: the numbers of claims go on over a release, a retry and a restart") {
  StoreWorld world;
  auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  auto reply = claimNew(*store);
  const auto wanted = wantedOf(reply);
  std::uint32_t attempt = 1;
  for (const Transition transition : {Transition::release, Transition::retry, Transition::release}) {
    CHECK(reply.sessions.at(0).rows.at(0).attempt == attempt++);
    const auto late = settlementOf(reply, Transition::ack);
    REQUIRE(settleOne(*store, settlementOf(reply, transition)));
    reply = claim(*store, wanted);
    CHECK_FALSE(settleOne(*store, late));
  }
  const auto beforeTheRestart = settlementOf(reply, Transition::ack);
  store.reset();
  store = world.open();
  reply = claim(*store, wanted);
  CHECK_FALSE(settleOne(*store, beforeTheRestart));
  CHECK(settleOne(*store, settlementOf(reply, Transition::ack)));
}

TEST_CASE("defect 2, P7: opening puts back what a dead process was sending") {
  StoreWorld world;
  world.lives = std::make_shared<Lives>();
  const auto first = world.open();
  enqueueOne(*first, frameOf("s"));
  const auto lost = claimNew(*first);
  world.lives->clear();
  const auto second = world.open();
  CHECK(store::sqlite::SqliteReader(world.file, world.options).stats().pending == 1);
  CHECK(claim(*second, wantedOf(lost)).sessions.at(0).status == ClaimStatus::claimed);
}

TEST_CASE("row 23, defect 9: kernel locks show other owners' lives in one process too, and end with their holder") {
  const TempDir directory;
  const auto sidecar = directory.file("owners");
  auto first = store::sqlite::kernelLiveness(sidecar);
  const auto second = store::sqlite::kernelLiveness(sidecar);
  first->hold(7);
  second->hold(8);
  CHECK(second->alive(7));
  CHECK(first->alive(8));
  CHECK_FALSE(first->alive(9));
  first.reset();
  CHECK_FALSE(second->alive(7));
  CHECK(std::filesystem::exists(sidecar));
  CHECK(std::filesystem::file_size(sidecar) == 0);
}

TEST_CASE("a backoff set by one process holds in the other, until it is due or the clock stepped back") {
  StoreWorld world;
  const auto first = world.open();
  const auto second = world.open();
  enqueueOne(*first, frameOf("s"));
  const auto reply = claimNew(*first);
  auto retry = settlementOf(reply, Transition::retry);
  const WallTime dueAt = world.clock->wallNow() + std::chrono::seconds(5);
  const delivery::SessionRelease released{.session = retry.session, .dueAt = dueAt, .previousSequence = {}};
  inTransaction(*first, [&] {
    first->settles().settle({&retry, 1});
    first->claims().endClaims({&released, 1});
  });
  const auto refused = claim(*second, wantedOf(reply));
  CHECK(refused.sessions.at(0).status == ClaimStatus::notDue);
  CHECK(refused.sessions.at(0).dueAt == dueAt);

  SUBCASE("due") {
    world.clock->advance(std::chrono::seconds(5));
  }
  SUBCASE("the clock went back by a day") {
    world.clock->step(-std::chrono::hours(24));
  }
  CHECK(claim(*second, wantedOf(reply)).sessions.at(0).status == ClaimStatus::claimed);
}

TEST_CASE("row 18: an instant that was chosen stands in the other process, however far ahead it is") {
  StoreWorld world;
  const auto first = world.open();
  const auto second = world.open();
  enqueueOne(*first, frameOf("s"));
  const auto reply = claimNew(*first);
  auto retry = settlementOf(reply, Transition::retry);
  delivery::SessionRelease released{
      .session = retry.session, .dueAt = world.clock->wallNow() + std::chrono::hours(50), .previousSequence = {}};
  released.isFirm = true;
  inTransaction(*first, [&] {
    first->settles().settle({&retry, 1});
    first->claims().endClaims({&released, 1});
  });
  CHECK(claim(*second, wantedOf(reply)).sessions.at(0).status == ClaimStatus::notDue);
  world.clock->advance(std::chrono::hours(50));
  CHECK(claim(*second, wantedOf(reply)).sessions.at(0).status == ClaimStatus::claimed);
}

TEST_CASE(
    "a claim that finds deferred rows tells their deadline, leaves out what is gone, and gives the session back") {
  StoreWorld world;
  const auto store = world.open();
  const auto other = world.open();
  enqueueOne(*store, frameOf("s"));
  enqueueOne(*store, frameOf("s"));
  const auto reply = claimNew(*store);
  auto deferred = settlementOf(reply, Transition::defer);
  deferred.dueAt = world.clock->wallNow() + std::chrono::seconds(60);
  const std::vector<delivery::Settlement> settlements{deferred, settlementOf(reply, Transition::ack, 0, 1)};
  const delivery::SessionRelease released{.session = deferred.session, .dueAt = {}, .previousSequence = 2};
  inTransaction(*store, [&] {
    store->settles().settle(settlements);
    store->claims().endClaims({&released, 1});
  });
  const auto again = claim(*store, wantedOf(reply));
  CHECK(again.sessions.at(0).rows.empty());
  REQUIRE(again.sessions.at(0).deferred.size() == 1);
  CHECK(again.sessions.at(0).deferred.at(0).dueAt == deferred.dueAt);
  CHECK(again.sessions.at(0).previousSequence == 2);
  CHECK(claim(*other, wantedOf(reply)).sessions.at(0).status == ClaimStatus::claimed);
}

TEST_CASE("a claimed message carries the exact bytes and all that its author gave") {
  StoreWorld world;
  const auto store = world.open();
  Frame frame = frameOf("lane", std::string("{\"a\":\"\0x\"}", 10));
  frame.traceparent = "00-trace";
  frame.correlationId = "before";
  frame.expiresAt = world.clock->wallNow() + std::chrono::hours(1);
  const auto receipt = enqueueOne(*store, frame);
  const auto reply = claimNew(*store);
  const OutboundFrame& sent = reply.messages.at(0).frame;
  CHECK(sent.messageId == receipt.messageId);
  CHECK(sent.session == "lane");
  CHECK(sent.type == "test");
  CHECK(sent.data == frame.data);
  CHECK(sent.sequence == 1);
  CHECK(sent.traceparent == "00-trace");
  CHECK(sent.correlationId == "before");
  CHECK(sent.expiresAt == frame.expiresAt);
  CHECK(sent.enqueuedAt == world.clock->wallNow());
}

TEST_CASE("P7: an owner that came by a symbolic link lives for those that came by the file's own name") {
  StoreWorld world;
  const auto first = world.open();
  enqueueOne(*first, frameOf("s"));
  const auto wanted = wantedOf(claimNew(*first));
  std::filesystem::create_symlink(world.file, world.directory.file("alias.db"));
  world.file = world.directory.file("alias.db");
  const auto second = world.open();
  CHECK(claim(*second, wanted).sessions.at(0).status == ClaimStatus::busy);
}

TEST_CASE("prefixes that differ in case alone are one outbox, and share the owners' file") {
  StoreWorld world;
  world.options.tablePrefix = "AZ_";
  const auto store = world.open();
  CHECK(std::filesystem::exists(world.file.string() + "-ackbox-owners-az_"));
}

}  // namespace ownership_test
