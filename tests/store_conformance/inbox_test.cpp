// Goal: the inbox keeps accepted frames until their handler is done: one live owner each, freed by its death.
// Method: two handles; frames added, claimed and completed by hand.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "store_conformance/inbound.hpp"
#include "store_conformance/world.hpp"

namespace inbox_test {

using namespace ackbox;
using namespace ackbox::testing;
using Kind = store::InboxClaim::Kind;

TEST_CASE("P3: a frame comes out of the inbox as it went in, and the gauge follows") {
  World world;
  const auto store = world.open();
  const InboundFrame frame = inboundFrame(1);
  const store::InboxKey key = acceptFrame(*store, frame);
  CHECK(acceptFrame(*store, frame) == key);
  CHECK(world.stats().inbox == 1);
  CHECK(world.stats().deferred == 1);
  const store::InboxClaim taken = claimRow(*store, key);
  REQUIRE(taken.kind == Kind::taken);
  CHECK(taken.row.deferred);
  CHECK(taken.row.starts == 1);
  const InboundFrame& got = taken.row.frame;
  CHECK(got.id == frame.id);
  CHECK(got.source == frame.source);
  CHECK(got.type == frame.type);
  CHECK(got.data == frame.data);
  CHECK(got.session == frame.session);
  CHECK(got.origin == frame.origin);
  CHECK(got.epoch == frame.epoch);
  CHECK(got.sequence == frame.sequence);
  CHECK(got.previousSequence == frame.previousSequence);
  CHECK(got.audience == frame.audience);
  CHECK(got.time == frame.time);
  CHECK(got.expiresAt == frame.expiresAt);
  CHECK(got.traceparent == frame.traceparent);
  CHECK(got.correlationId == frame.correlationId);
  CHECK(got.resentOf == frame.resentOf);
  CHECK(world.problems() == "");
}

TEST_CASE("P12: what has left the inbox is missing, and what is claimed is not") {
  World world;
  const auto store = world.open();
  const auto other = world.open();
  std::vector<store::InboxKey> keys;
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) {
    keys.push_back(acceptFrame(*store, inboundFrame(sequence, std::to_string(sequence))));
  }
  REQUIRE(claimRow(*store, keys[0]).kind == Kind::taken);
  FrameResult term;
  term.outcome = Outcome::term;
  term.code = "discarded";
  for (const store::InboxKey key : {keys[3], keys[1]}) {
    REQUIRE(
        inTransaction(*other, [&] { return other->inbox().discard(key, term, std::chrono::hours(1)); }).receipt.done());
  }
  const auto missing = [&](const std::vector<store::InboxKey>& asked) {
    return inTransaction(*store, [&] { return store->inbox().missing(asked); });
  };
  CHECK(missing({keys[3], keys[2], keys[1], keys[0]}) == std::vector<store::InboxKey>{keys[1], keys[3]});
  CHECK(missing({}).empty());
}

TEST_CASE("P4: rows of a session share a queue; a frame outside any session has its own") {
  World world;
  const auto store = world.open();
  acceptFrame(*store, inboundFrame(1, "a"));
  acceptFrame(*store, inboundFrame(1, "b"));
  acceptFrame(*store, inboundFrame(2, "a"));
  InboundFrame loose = inboundFrame(1, "");
  loose.sequence = 0;
  acceptFrame(*store, loose);
  loose.id = "other";
  acceptFrame(*store, loose);
  const auto rows = inTransaction(*store, [&] { return store->inbox().rowsAfter({}, 10); }).rows;
  REQUIRE(rows.size() == 5);
  std::map<std::string, std::vector<store::InboxKey>> queues;
  for (const store::InboxPlace& row : rows) {
    queues[row.queue].push_back(row.key);
  }
  CHECK(queues.size() == 4);
  const auto keyOf = [&](const char* id) {
    return inTransaction(*store, [&] { return store->inbox().find("urn:peer", id); });
  };
  const std::vector<store::InboxKey> ofSession{keyOf("a-1"), keyOf("a-2")};
  CHECK(std::ranges::count_if(queues, [&](const auto& queue) { return queue.second == ofSession; }) == 1);
  CHECK(inTransaction(*store, [&] { return store->inbox().firstWaiting(inboundFrame(9, "a")); }) == 1);
}

TEST_CASE("P7: row 2: a row is one live owner's, and free again when that owner dies") {
  World world;
  auto first = world.open();
  auto second = world.open();
  const store::InboxKey key = acceptFrame(*first, inboundFrame(1));
  const store::InboxClaim taken = claimRow(*first, key);
  REQUIRE(taken.kind == Kind::taken);
  CHECK(claimRow(*second, key).kind == Kind::busy);
  CHECK(world.problems() == "");
  world.crash(*first);
  CHECK(inTransaction(*second, [&] { return second->owners().releaseDead(); }) == 1);
  const store::InboxClaim again = claimRow(*second, key);
  REQUIRE(again.kind == Kind::taken);
  CHECK(again.row.retryCount == 0);
  // The former owner, if it was only thought dead, completes nothing.
  CHECK_FALSE(holdsClaim(*first, taken.row));
  CHECK(holdsClaim(*second, again.row));
}

TEST_CASE("P5: a row that is claimed again refuses the completion of its earlier claim") {
  World world;
  const auto store = world.open();
  const store::InboxKey key = acceptFrame(*store, inboundFrame(1));
  const store::InboxClaim first = claimRow(*store, key);
  const store::InboxClaim second = claimRow(*store, key);
  REQUIRE(second.kind == Kind::taken);
  CHECK_FALSE(holdsClaim(*store, first.row));
}

TEST_CASE("P8: a retry is charged and not due before its time; a release is neither") {
  World world;
  const auto store = world.open();
  const store::InboxKey key = acceptFrame(*store, inboundFrame(1));
  REQUIRE(claimRow(*store, key).kind == Kind::taken);
  const WallTime later = world.clock->wallNow() + std::chrono::seconds(5);
  retryRow(*store, key, later, "boom");
  const store::InboxClaim early = claimRow(*store, key);
  CHECK(early.kind == Kind::notDue);
  CHECK(early.dueAt == later);
  world.clock->advance(std::chrono::seconds(5));
  CHECK(claimRow(*store, key).row.retryCount == 1);
  releaseRow(*store, key);
  CHECK(claimRow(*store, key).row.retryCount == 1);
}

TEST_CASE("P3: a retry that a wrong clock put far ahead is due once the calendar is set back") {
  World world;
  const auto store = world.open();
  const store::InboxKey key = acceptFrame(*store, inboundFrame(1));
  REQUIRE(claimRow(*store, key).kind == Kind::taken);
  const WallTime later = world.clock->wallNow() + std::chrono::seconds(5);
  retryRow(*store, key, later, "boom");
  world.clock->step(-std::chrono::minutes(59));
  CHECK(claimRow(*store, key).kind == Kind::notDue);
  world.clock->step(-std::chrono::minutes(1));
  CHECK(claimRow(*store, key).kind == Kind::taken);
}

TEST_CASE("P10: a failed run leaves its error, cut at 1,000 bytes, and its instant; a claim says since when it runs") {
  World world;
  const auto store = world.open();
  const store::InboxKey key = acceptFrame(*store, inboundFrame(1));
  const auto reader = world.reader();
  CHECK(reader->findInbox("urn:peer", "s-1")->state == InboxState::waiting);
  CHECK_FALSE(reader->findInbox("urn:peer", "s-1")->failedAt);
  world.clock->advance(std::chrono::seconds(5));
  REQUIRE(claimRow(*store, key).kind == Kind::taken);
  CHECK(reader->findInbox("urn:peer", "s-1")->state == InboxState::running);
  CHECK(reader->findInbox("urn:peer", "s-1")->startedAt == world.clock->wallNow());
  world.clock->advance(std::chrono::seconds(5));
  const WallTime dueAt = world.clock->wallNow() + std::chrono::minutes(1);
  retryRow(*store, key, dueAt, std::string(999, 'x') + "\xc3\xa9");
  const std::optional<InboxInfo> failed = reader->findInbox("urn:peer", "s-1");
  REQUIRE(failed);
  CHECK(failed->state == InboxState::backoff);
  CHECK(failed->retryCount == 1);
  CHECK(failed->dueAt == dueAt);
  CHECK(failed->failedAt == world.clock->wallNow());
  CHECK(failed->lastError == std::string(999, 'x'));
  CHECK(reader->inboxFrame("urn:peer", "s-1")->data == "[1]");
  CHECK_FALSE(reader->findInbox("urn:other", "s-1"));
  // Without a text it says something all the same, and a claim leaves it.
  world.clock->advance(std::chrono::minutes(2));
  REQUIRE(claimRow(*store, key).kind == Kind::taken);
  retryRow(*store, key, dueAt, {});
  CHECK(reader->findInbox("urn:peer", "s-1")->lastError == "not-now");
  CHECK(world.problems() == "");
}

TEST_CASE("P3: by hand, a frame is due at once without charges, or ends for good; not while it runs") {
  World world;
  const auto store = world.open();
  const store::InboxKey key = acceptFrame(*store, inboundFrame(1));
  const store::InboxKey loose = acceptFrame(*store, inboundFrame(0, ""));
  const auto retry = [&](store::InboxKey row) {
    return inTransaction(*store, [&] { return store->inbox().retryNow(row); }).receipt;
  };
  const auto discard = [&](store::InboxKey row) {
    return inTransaction(
               *store,
               [&] { return store->inbox().discard(row, resultOf(Outcome::term, "no-more"), kOutcomeRetention); })
        .receipt;
  };
  const auto changes = [&] { return inTransaction(*store, [&] { return store->inbox().operatorChanges(); }); };
  REQUIRE(claimRow(*store, key).kind == Kind::taken);
  for (const InboxReceipt& refused : {retry(key), discard(key)}) {
    CHECK(refused.refusal == Errc::invalidTransition);
    CHECK(refused.state == InboxState::running);
  }
  CHECK(retry(key + loose).refusal == Errc::unknownMessage);
  CHECK(changes() == 0);
  retryRow(*store, key, world.clock->wallNow() + std::chrono::minutes(1), "no");
  REQUIRE(claimRow(*store, key).kind == Kind::notDue);
  CHECK(retry(key).state == InboxState::backoff);
  CHECK(changes() == 1);
  // At its instant nothing is waited for any more.
  retryRow(*store, key, world.clock->wallNow(), "no");
  CHECK(retry(key).state != InboxState::backoff);
  CHECK(changes() == 2);
  const store::InboxClaim again = claimRow(*store, key);
  REQUIRE(again.kind == Kind::taken);
  CHECK(again.row.retryCount == 0);
  releaseRow(*store, key);
  // One outside sessions, too: a repetition of it is refused alike.
  CHECK(discard(key).done());
  CHECK(discard(loose).done());
  CHECK(changes() == 4);
  for (const InboundFrame& frame : {inboundFrame(1), inboundFrame(0, "")}) {
    REQUIRE(answerTo(*store, frame));
    CHECK(answerTo(*store, frame)->code == "no-more");
    CHECK(inTransaction(*store, [&] { return store->inboundMarks().admit(identityOf(frame)); }).admission ==
          store::Admission::duplicate);
  }
  // One that ends with a result is no refusal.
  const store::InboxKey done = acceptFrame(*store, inboundFrame(1, "done"));
  FrameResult result = resultOf(Outcome::ack);
  result.result = "1";
  finishRow(*store, claimRow(*store, done).row, result);
  const auto reader = world.reader();
  CHECK(reader->findInbox("urn:peer", "s-1")->state == InboxState::ended);
  CHECK(reader->findInbox("urn:peer", "s-1")->reason == "no-more");
  CHECK(reader->findInbox("urn:peer", "done-1")->state == InboxState::ended);
  const std::vector<InboxInfo> ended = reader->inbox({.state = InboxState::ended}, 10, 0).frames;
  REQUIRE(ended.size() == 2);
  for (const InboxInfo& frame : ended) {
    CHECK(frame.state == InboxState::ended);
    CHECK(frame.type == inboundFrame(1).type);
    CHECK(frame.reason == "no-more");
    CHECK(frame.endedAt == world.clock->wallNow());
    CHECK(frame.startCount == (frame.messageId == "s-1" ? 2 : 0));
  }
  CHECK(reader->inbox({.state = InboxState::ended, .text = "s-1"}, 10, 0).frames.size() == 1);
  const InboxPage page = reader->inbox({.state = InboxState::ended, .text = "no-more"}, 1, 0);
  REQUIRE(page.frames.size() == 1);
  const InboxPage rest = reader->inbox({.state = InboxState::ended, .text = "no-more"}, 10, page.next);
  REQUIRE(rest.frames.size() == 1);
  CHECK(rest.frames[0].messageId != page.frames[0].messageId);
  CHECK(rest.next == 0);
  CHECK(reader->inbox({.state = InboxState::ended, .source = "urn:other"}, 10, 0).frames.empty());
  CHECK(reader->stats().inbox == 0);
  CHECK(world.problems() == "");
}

TEST_CASE("P13: a frame whose application is away is unattended, in hand of its process or not, and is counted") {
  World world;
  const auto store = world.open();
  const store::InboxKey first = acceptFrame(*store, inboundFrame(1));
  acceptFrame(*store, inboundFrame(2));
  acceptFrame(*store, inboundFrame(1, "t"));
  InboundFrame other = inboundFrame(1, "u");
  other.type = "other";
  acceptFrame(*store, other);
  const auto reader = world.reader();
  const auto state = [&](const char* id) { return reader->findInbox("urn:peer", id)->state; };
  CHECK(state("s-1") == InboxState::waiting);
  CHECK(state("s-2") == InboxState::behind);
  CHECK(reader->unattendedFrames().frames == 0);
  REQUIRE(claimRow(*store, first).kind == Kind::taken);
  CHECK(state("s-1") == InboxState::running);

  world.clock->advance(std::chrono::minutes(4));
  const std::string type = inboundFrame(1).type;
  const WallTime since = world.clock->wallNow() - std::chrono::minutes(1);
  // Of several that fit, the first counts.
  const std::vector<ackbox::Application> away = {{type, since, "a stream\tof\nits type"}, {"*", std::nullopt, ""}};
  inTransaction(*store, [&] { store->inbox().noteApplications(away); });
  CHECK(state("s-1") == InboxState::unattended);
  CHECK(state("s-2") == InboxState::behind);
  CHECK(state("t-1") == InboxState::unattended);
  CHECK(state("u-1") == InboxState::waiting);
  CHECK(reader->findInbox("urn:peer", "t-1")->waitsFor == "a stream of its type");
  CHECK(reader->inbox({.state = InboxState::unattended}, 10, 0).frames.size() == 2);
  const UnattendedFrames found = reader->unattendedFrames();
  CHECK(found.frames == 3);
  CHECK_FALSE(found.isCut);
  CHECK(found.type == type);
  CHECK(found.cause == "a stream of its type");
  CHECK(found.since == since);
  CHECK(found.oldestAt == world.clock->wallNow() - std::chrono::minutes(4));

  const auto explained = [&](const char* id) { return reader->explainInbox("urn:peer", id)->reasons; };
  REQUIRE(explained("t-1").size() >= 1);
  CHECK(explained("t-1")[0].blockReason == BlockReason::applicationAway);
  CHECK(explained("t-1")[0].since == since);
  CHECK(explained("t-1")[0].detail == "a stream of its type");
  REQUIRE(explained("s-2").size() >= 2);
  CHECK(explained("s-2")[0].blockReason == BlockReason::behind);
  CHECK(explained("s-2")[1].blockReason == BlockReason::applicationAway);

  // Of one that is there, what settles nothing.
  const WallTime silentSince = since - std::chrono::minutes(9);
  const std::vector<ackbox::Application> silent = {
      {"job", std::nullopt, "", {}},
      {"*", std::nullopt, "", ackbox::SilentConsumer{"a stream\tfor\ntypes *", 3, silentSince}}};
  inTransaction(*store, [&] { store->inbox().noteApplications(silent); });
  const std::vector<ackbox::Application> known = reader->applications();
  REQUIRE(known.size() == 2);
  CHECK(known[0].types == "job");
  CHECK_FALSE(known[0].silent);
  CHECK(known[1].types == "*");
  CHECK_FALSE(known[1].awaySince);
  CHECK(known[1].cause == "");
  REQUIRE(known[1].silent);
  CHECK(known[1].silent->name == "a stream for types *");
  CHECK(known[1].silent->frames == 3);
  CHECK(known[1].silent->since == silentSince);
  CHECK(state("s-1") == InboxState::running);

  // It is there again, and its process goes.
  inTransaction(*store, [&] {
    store->inbox().noteApplications(std::vector<ackbox::Application>{{"*", std::nullopt, ""}});
  });
  CHECK(state("s-1") == InboxState::running);
  CHECK(reader->unattendedFrames().frames == 0);
  CHECK(world.problems() == "");
}

TEST_CASE("P10: deferred frames are listed page by page, and by state, source and session") {
  World world;
  const auto store = world.open();
  for (std::uint64_t number = 1; number <= 3; ++number) {
    acceptFrame(*store, inboundFrame(number));
  }
  InboundFrame foreign = inboundFrame(1, "t");
  foreign.source = "urn:other";
  acceptFrame(*store, foreign);
  const store::InboxKey running = inTransaction(*store, [&] { return store->inbox().find("urn:peer", "s-1"); });
  REQUIRE(claimRow(*store, running).kind == Kind::taken);
  const auto reader = world.reader();
  const InboxPage first = reader->inbox({}, 3, 0);
  CHECK(first.frames.size() == 3);
  CHECK(first.next != 0);
  REQUIRE(reader->inbox({}, 3, first.next).frames.size() == 1);
  CHECK(reader->inbox({}, 3, first.next).frames[0].source == "urn:other");
  CHECK(reader->inbox({.state = InboxState::running}, 10, 0).frames.size() == 1);
  CHECK(reader->inbox({.state = InboxState::waiting}, 10, 0).frames.size() == 1);
  CHECK(reader->inbox({.state = InboxState::behind}, 10, 0).frames.size() == 2);
  CHECK(reader->inbox({.state = InboxState::ended}, 10, 0).frames.empty());
  CHECK(reader->inbox({.source = "urn:peer"}, 10, 0).frames.size() == 3);
  CHECK(reader->inbox({.session = "t"}, 10, 0).frames.size() == 1);
  CHECK(reader->inboxSources("t-1") == std::vector<std::string>{"urn:other"});
}

TEST_CASE("P4: what waits behind a deferred frame is known as not seen by its handler, until that defers it") {
  const World world;
  const auto store = world.open();
  const store::InboxKey key = inTransaction(*store, [&] {
    store->inboundMarks().markAccepted(identityOf(inboundFrame(1)), 0, {kOutcomeRetention, kOutcomeRetention});
    store->inbox().add(inboundFrame(1), false);
    return store->inbox().find("urn:peer", "s-1");
  });
  CHECK_FALSE(claimRow(*store, key).row.deferred);
  inTransaction(*store, [&] {
    store->inbox().markDeferred({&key, 1});
    store->inbox().release({&key, 1});
  });
  CHECK(claimRow(*store, key).row.deferred);
}

TEST_CASE("P7: what an inbox was working on when its process closed, or died, is free for the next, without a charge") {
  const World world;
  auto first = world.open();
  const store::InboxKey key = acceptFrame(*first, inboundFrame(1));
  const store::InboxClaim taken = claimRow(*first, key);
  REQUIRE(taken.kind == Kind::taken);
  SUBCASE("closed") {
    first = nullptr;
  }
  SUBCASE("died") {
    world.crash(*first);
  }
  const auto second = world.open();
  const store::InboxClaim again = claimRow(*second, key);
  REQUIRE(again.kind == Kind::taken);
  CHECK(again.row.starts > taken.row.starts);
  CHECK(again.row.retryCount == 0);
  finishRow(*second, again.row, resultOf(Outcome::ack));
  CHECK(claimRow(*second, key).kind == Kind::gone);
  CHECK(world.stats().received == 1);
  CHECK(world.problems() == "");
}

}  // namespace inbox_test
