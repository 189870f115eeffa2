// Goal: P4 P6: what a sender numbers for several agents is kept apart, each number of each mailbox once, and comes out
// as it went in. Method: frames that differ in their mailbox alone, by hand, looked at through the store and a reader.

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "store_conformance/inbound.hpp"
#include "store_conformance/world.hpp"

namespace mailboxes_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

constexpr const char* kCarol = "urn:agent:carol";
constexpr const char* kDave = "urn:agent:dave";

InboundFrame mailed(std::uint64_t sequence, const std::string& mailbox, const std::string& session = "s") {
  InboundFrame frame = inboundFrame(sequence, session);
  if (!mailbox.empty()) {
    frame.audience = mailbox;
    frame.mailbox = mailbox;
  }
  frame.id += "-" + mailbox;
  return frame;
}

store::AdmissionReply admit(store::Store& store, const InboundFrame& frame) {
  const store::KeptSession session(frame);
  return inTransaction(store, [&] { return store.inboundMarks().admit(identityOf(frame, session.name())); });
}

}  // namespace

TEST_CASE("P6: each mailbox has sessions of its own, whose numbers are accepted once") {
  World world;
  const auto store = world.open();
  for (const char* const mailbox : {"", kCarol, kDave}) {
    CAPTURE(mailbox);
    const InboundFrame first = mailed(1, mailbox);
    CHECK(admit(*store, first).admission == store::Admission::take);
    acceptFrame(*store, first);
    CHECK(admit(*store, first).admission == store::Admission::duplicate);
    CHECK(admit(*store, mailed(2, mailbox)).admission == store::Admission::take);
    CHECK(admit(*store, mailed(3, mailbox)).admission == store::Admission::outOfSequence);
  }
  CHECK(world.problems() == "");
}

TEST_CASE("P4: a frame comes out of its mailbox as it went in, in a queue of its own, also outside sessions") {
  World world;
  const auto store = world.open();
  std::set<std::string> queues;
  for (const char* const mailbox : {"", kCarol, kDave}) {
    acceptFrame(*store, mailed(1, mailbox));
    acceptFrame(*store, mailed(0, mailbox, ""));
  }
  const auto rows = inTransaction(*store, [&] { return store->inbox().rowsAfter({}, 100); }).rows;
  REQUIRE(rows.size() == 6);
  for (const store::InboxPlace& row : rows) {
    CAPTURE(row.queue);
    queues.insert(row.queue);
    const store::InboxClaim claim = claimRow(*store, row.key);
    REQUIRE(claim.kind == store::InboxClaim::Kind::taken);
    CHECK_FALSE(claim.row.isDamaged);
    CHECK(claim.row.frame.mailbox == row.mailbox);
    CHECK(claim.row.frame.session == row.session);
    CHECK(row.session == (claim.row.frame.sequence == 0 ? "" : "s"));
    CHECK(row.mailbox == (claim.row.frame.audience == "urn:me" ? "" : claim.row.frame.audience));
  }
  CHECK(queues.size() == 6);
}

TEST_CASE("P4: what waits in one mailbox is not in front of what is for others, and outcomes are apart") {
  World world;
  const auto store = world.open();
  InboundFrame carol = mailed(1, kCarol);
  InboundFrame dave = mailed(2, kDave);
  // One id for both, as a publisher may choose.
  dave.id = carol.id;
  acceptFrame(*store, carol);
  const store::InboxKey row = inTransaction(*store, [&] {
    store->inbox().add(dave, true);
    return store->inbox().rowsAfter({}, 100).rows.back().key;
  });
  const auto firstOf = [&](const InboundFrame& frame) {
    return inTransaction(*store, [&] { return store->inbox().firstWaiting(frame); });
  };
  CHECK(firstOf(carol) == 1);
  CHECK(firstOf(dave) == 2);
  CHECK_FALSE(firstOf(mailed(1, "")).has_value());
  FrameResult term;
  term.outcome = Outcome::term;
  term.code = "unknown-order";
  finishRow(*store, claimRow(*store, row).row, term);
  const auto outcomeOf = [&](const InboundFrame& frame) {
    const store::KeptSession session(frame);
    return inTransaction(*store, [&] { return store->inbox().resultOf(identityOf(frame, session.name())); });
  };
  REQUIRE(outcomeOf(dave));
  CHECK(outcomeOf(dave)->code == "unknown-order");
  CHECK(outcomeOf(carol)->outcome == Outcome::defer);
  CHECK(world.problems() == "");
}

TEST_CASE(
    "P10: a reader shows and chooses frames by their mailbox, and what is behind another one of the same mailbox") {
  World world;
  const auto store = world.open();
  for (const char* const mailbox : {"", kCarol, kDave}) {
    acceptFrame(*store, mailed(1, mailbox));
    acceptFrame(*store, mailed(2, mailbox));
  }
  const auto pageOf = [&](const InboxFilter& filter) { return world.reader()->inbox(filter, 100, 0).frames; };
  CHECK(pageOf({}).size() == 6);
  const auto ofCarol = pageOf({.mailbox = kCarol});
  REQUIRE(ofCarol.size() == 2);
  CHECK(ofCarol[0].mailbox == kCarol);
  CHECK(ofCarol[0].session == "s");
  CHECK(ofCarol[0].state == InboxState::waiting);
  CHECK(ofCarol[1].state == InboxState::behind);
  CHECK(pageOf({.session = "s"}).size() == 2);
  CHECK(pageOf({.session = "s", .mailbox = kDave}).size() == 2);
  CHECK(pageOf({.session = "t", .mailbox = kDave}).empty());
  CHECK(pageOf({.mailbox = "urn:agent:c"}).empty());
  const auto explained = world.reader()->explainInbox("urn:peer", ofCarol[1].messageId);
  REQUIRE(explained);
  REQUIRE_FALSE(explained->reasons.empty());
  CHECK(explained->reasons[0].blockReason == BlockReason::behind);
  CHECK(world.reader()->inboxFrame("urn:peer", ofCarol[0].messageId)->mailbox == kCarol);
}

TEST_CASE("P13: a mailbox has the application of its name, or that of all others, and none of this agent's frames") {
  World world;
  const auto store = world.open();
  acceptFrame(*store, mailed(1, ""));
  acceptFrame(*store, mailed(1, kCarol));
  acceptFrame(*store, mailed(1, kDave));
  const WallTime since = world.clock->wallNow();
  const std::vector<ackbox::Application> applications = {
      {.types = "test"},
      {.types = "*", .awaySince = since, .cause = "its agent", .mailbox = "*"},
      {.types = "*", .mailbox = kDave},
  };
  inTransaction(*store, [&] { store->inbox().noteApplications(applications); });
  const auto frames = world.reader()->inbox({}, 100, 0).frames;
  REQUIRE(frames.size() == 3);
  CHECK(frames[0].state == InboxState::waiting);
  CHECK(frames[1].state == InboxState::unattended);
  CHECK(frames[1].waitsFor == "its agent");
  CHECK(frames[2].state == InboxState::waiting);
  // Its agent may sleep.
  CHECK(world.reader()->unattendedFrames().frames == 0);
}

}  // namespace mailboxes_test
