// Goal: defect 8: a peer's later word settles a message in any live state, once, and only the addressed peer's does.
// Method: one message per state, words from the right peer, from another, from none, and repeated.

#include <doctest/doctest.h>

#include "ackbox/peer_status.hpp"
#include "store_conformance/world.hpp"

namespace later_word_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

/// One message to bob waits, whose session a dead letter would block.
struct Blocking : World {
  Blocking(const char* session, const char* id) {
    options.peers = {{.name = "bob", .agent = "urn:bob"}};
    options.gap = GapPolicy::block;
    store = open();
    Frame frame = frameOf(session, "{}", id);
    frame.peer = "bob";
    REQUIRE(enqueueOne(*store, frame).isNew());
  }
  std::unique_ptr<store::Store> store;
};

}  // namespace

TEST_CASE("P11: a hub's word settles messages to the agents whose mailboxes it keeps, and to no others") {
  World world;
  world.options.peers = {{.name = "carol", .agent = "urn:team:carol"}, {.name = "dave", .agent = "urn:dave"}};
  const auto store = world.open();
  for (const char* const peer : {"carol", "dave"}) {
    Frame frame = frameOf(peer, "{}", peer);
    frame.peer = peer;
    REQUIRE(enqueueOne(*store, frame).isNew());
  }
  const auto kindOf = [&](const char* agent, const char* id, const std::vector<std::string>& mailboxes) {
    FrameResult word;
    word.outcome = Outcome::ack;
    return inTransaction(*store,
                         [&] { return store->settles().applyAckEvent(agent, id, 0, word, {}, {}, mailboxes).kind; });
  };
  using Kind = store::AckEventOutcome::Kind;
  CHECK(kindOf("urn:hub", "carol", {}) == Kind::refused);
  CHECK(kindOf("urn:hub", "carol", {"urn:dave", "urn:team:d*"}) == Kind::refused);
  // An anonymous sender keeps no mailbox.
  CHECK(kindOf("", "carol", {"*"}) == Kind::refused);
  CHECK(kindOf("urn:hub", "carol", {"urn:dave", "urn:team:*"}) == Kind::settled);
  CHECK(kindOf("urn:hub", "dave", {"urn:dave"}) == Kind::settled);
}

TEST_CASE("P11: defect 8: only the addressed peer's word settles a message, once, in any live state") {
  World world;
  world.options.peers = {{.name = "bob", .agent = "urn:bob"}, {.name = "eve", .agent = "urn:eve"}, {.name = "mute"}};
  const auto store = world.open();
  using Kind = store::AckEventOutcome::Kind;
  const auto later = [&](const char* agent, const std::string& id, Outcome outcome, std::string code = {}) {
    FrameResult word;
    word.outcome = outcome;
    word.code = std::move(code);
    return inTransaction(*store, [&] { return store->settles().applyAckEvent(agent, id, 0, word); });
  };
  for (const char* id : {"pending", "sending", "sent", "term", "again"}) {
    Frame frame = frameOf(id, "{}", id);
    frame.peer = "bob";
    REQUIRE(enqueueOne(*store, frame).isNew());
  }
  Frame mute = frameOf("mute", "{}", "mute");
  mute.peer = "mute";
  REQUIRE(enqueueOne(*store, mute).isNew());
  const store::NewRows fresh = store->discovery().take(100);
  for (const std::size_t index : {1U, 2U, 3U, 4U}) {
    const delivery::SessionClaim claim{fresh.rows[index].session, {fresh.rows[index].key}};
    const auto reply = inTransaction(*store, [&] { return store->claims().claim({&claim, 1}); });
    if (index > 1) {
      REQUIRE(settleOne(*store, settlementOf(reply, delivery::Transition::defer)));
    }
  }
  for (const char* id : {"pending", "sending", "sent"}) {
    CAPTURE(id);
    CHECK(later("urn:eve", id, Outcome::ack).kind == Kind::refused);
    CHECK(later("", id, Outcome::ack).kind == Kind::refused);
    const auto settled = later("urn:bob", id, Outcome::ack);
    CHECK(settled.kind == Kind::settled);
    CHECK(settled.peer == "bob");
    CHECK(settled.session == id);
    CHECK(settled.message.messageId == id);
    CHECK(later("urn:bob", id, Outcome::ack).kind == Kind::ignored);
  }
  const auto ofMailbox = [&](const char* agent, const std::vector<std::string>& mailboxes) {
    FrameResult word;
    word.outcome = Outcome::ack;
    return inTransaction(
        *store, [&] { return store->settles().applyAckEvent(agent, "mute", 0, word, {}, {}, mailboxes).kind; });
  };
  // A peer without an agent is nobody's mailbox.
  CHECK(ofMailbox("urn:hub", {"*"}) == Kind::refused);
  CHECK(later("urn:bob", "term", Outcome::term, "no-order").kind == Kind::settled);
  CHECK(later("urn:bob", "term", Outcome::ack).kind == Kind::ignored);
  CHECK(world.find("term")->reason == "no-order");
  CHECK(later("urn:bob", "again", Outcome::nack).kind == Kind::recalled);
  CHECK(later("urn:bob", "again", Outcome::defer).kind == Kind::ignored);
  CHECK(later("urn:bob", "never-heard-of", Outcome::ack).kind == Kind::ignored);
  // A peer without an agent URI cannot be told from others.
  CHECK(later("", "mute", Outcome::ack).kind == Kind::refused);
  const Stats stats = world.stats();
  CHECK(stats.acked == 3);
  CHECK(stats.refusedAcks == 8);
  CHECK(world.problems() == "");
}

// Found by the power cut harness: the message was given up twice, redriven twice, and took effect twice.
TEST_CASE("P5: a late word about the number before a redrive does not touch the redriven message") {
  World world;
  world.options.peers = {{.name = "bob", .agent = "urn:bob"}};
  const auto store = world.open();
  Frame frame = frameOf("s", "{}", "m");
  frame.peer = "bob";
  REQUIRE(enqueueOne(*store, frame).isNew());
  using Kind = store::AckEventOutcome::Kind;
  const auto later = [&](std::uint64_t sequence, Outcome outcome) {
    FrameResult word;
    word.outcome = outcome;
    return inTransaction(*store, [&] { return store->settles().applyAckEvent("urn:bob", "m", sequence, word); });
  };
  CHECK(later(1, Outcome::term).kind == Kind::settled);
  const auto redriven =
      inTransaction(*store, [&] { return store->deadLetters().change("m", delivery::Transition::redrive, {}); });
  REQUIRE(redriven.receipt.sequence == 2);
  CHECK(later(1, Outcome::term).kind == Kind::ignored);
  CHECK(later(1, Outcome::nack).kind == Kind::ignored);
  CHECK(later(2, Outcome::ack).kind == Kind::settled);
}

TEST_CASE("P5: a late refusal of before a redrive does not touch a message outside sessions, and its ACK does") {
  World world;
  world.options.peers = {{.name = "bob", .agent = "urn:bob"}};
  const auto store = world.open();
  Frame frame = frameOf("", "{}", "m");
  frame.peer = "bob";
  REQUIRE(enqueueOne(*store, frame).isNew());
  using Kind = store::AckEventOutcome::Kind;
  const auto later = [&](WallTime time, Outcome outcome) {
    FrameResult word;
    word.outcome = outcome;
    return inTransaction(*store,
                         [&] { return store->settles().applyAckEvent("urn:bob", "m", 0, word, {}, time).kind; });
  };
  const WallTime first = world.clock->wallNow();
  CHECK(later(first + std::chrono::milliseconds(1), Outcome::term) == Kind::ignored);
  CHECK(later(first, Outcome::term) == Kind::settled);
  const auto redrive = [&] {
    const auto change =
        inTransaction(*store, [&] { return store->deadLetters().change("m", delivery::Transition::redrive, {}); });
    REQUIRE(change.receipt.done());
  };
  // Within the same millisecond, and then by a calendar that was set back: it is later each time.
  redrive();
  CHECK(later(first, Outcome::term) == Kind::ignored);
  CHECK(later(first + std::chrono::milliseconds(1), Outcome::term) == Kind::settled);
  world.clock->step(-std::chrono::hours(24));
  redrive();
  CHECK(later(first, Outcome::term) == Kind::ignored);
  CHECK(later(first + std::chrono::milliseconds(1), Outcome::nack) == Kind::ignored);
  CHECK(later(first + std::chrono::milliseconds(2), Outcome::term) == Kind::settled);
  world.clock->step(std::chrono::hours(48));
  redrive();
  CHECK(later(world.clock->wallNow(), Outcome::ack) == Kind::settled);
}

TEST_CASE("P4: a later word that gives a message up blocks its session where the policy says so, and nowhere else") {
  World world;
  world.options.peers = {{.name = "bob", .agent = "urn:bob"}};
  world.options.sessionPolicies = {{.session = "strict", .gap = GapPolicy::block}};
  const auto store = world.open();
  const auto blocked = [&] { return world.reader()->blockedSessions(10); };
  FrameResult word;
  word.outcome = Outcome::term;
  for (const char* session : {"strict", "loose"}) {
    CAPTURE(session);
    Frame frame = frameOf(session, "{}", std::string(session) + "-1");
    frame.peer = "bob";
    REQUIRE(enqueueOne(*store, frame).isNew());
    frame.id = std::string(session) + "-2";
    REQUIRE(enqueueOne(*store, frame).isNew());
    const store::NewRows fresh = store->discovery().take(100);
    const delivery::SessionClaim first{fresh.rows[0].session, {fresh.rows[0].key}};
    const auto reply = inTransaction(*store, [&] { return store->claims().claim({&first, 1}); });
    REQUIRE(settleOne(*store, settlementOf(reply, delivery::Transition::defer)));
    const delivery::SessionRelease release{.session = first.session, .dueAt = {}, .previousSequence = 1};
    inTransaction(*store, [&] { store->claims().endClaims({&release, 1}); });
    inTransaction(*store,
                  [&] { return store->settles().applyAckEvent("urn:bob", std::string(session) + "-1", 1, word); });
    const delivery::SessionClaim second{fresh.rows[1].session, {fresh.rows[1].key}};
    const auto next = inTransaction(*store, [&] { return store->claims().claim({&second, 1}); });
    CHECK((next.sessions.at(0).status ==
           (session == std::string("strict") ? delivery::ClaimStatus::halted : delivery::ClaimStatus::claimed)));
  }
  REQUIRE(blocked().size() == 1);
  CHECK(blocked().front().session == "strict");
  CHECK(blocked().front().messageId == "strict-1");
  CHECK(world.problems() == "");
}

TEST_CASE("P4: an unordered message that a later word gives up blocks nothing, as it leaves no gap") {
  Blocking world("", "unordered");
  const auto& store = world.store;
  const auto reply = claimNew(*store);
  REQUIRE(settleOne(*store, settlementOf(reply, delivery::Transition::defer)));
  FrameResult word;
  word.outcome = Outcome::term;
  CHECK(inTransaction(*store, [&] { return store->settles().applyAckEvent("urn:bob", "unordered", 0, word); }).kind ==
        store::AckEventOutcome::Kind::settled);
  const auto reader = world.reader();
  CHECK(reader->stats().failed == 1);
  CHECK(reader->blockedSessions(10).empty());
}

TEST_CASE("P4: a later ACK, or a word that is not taken, blocks nothing") {
  Blocking world("s", "m");
  const auto& store = world.store;
  const auto later = [&](const char* agent, std::uint64_t sequence, Outcome outcome) {
    FrameResult word;
    word.outcome = outcome;
    return inTransaction(*store, [&] { return store->settles().applyAckEvent(agent, "m", sequence, word).kind; });
  };
  using Kind = store::AckEventOutcome::Kind;
  CHECK(later("urn:eve", 1, Outcome::term) == Kind::refused);
  CHECK(later("urn:bob", 2, Outcome::term) == Kind::ignored);
  CHECK(later("urn:bob", 1, Outcome::ack) == Kind::settled);
  CHECK(world.reader()->blockedSessions(10).empty());
}

TEST_CASE("P3: the word of a store that is lost settles nothing, nor one on what a forgetful peer is sent again") {
  World world;
  world.options.peers = {{.name = "bob", .agent = "urn:bob"}};
  const auto store = world.open();
  using Kind = store::AckEventOutcome::Kind;
  Frame frame = frameOf("s", "{}", "m");
  frame.peer = "bob";
  REQUIRE(enqueueOne(*store, frame).isNew());
  const auto hear = [&](std::optional<PeerResetKind> found, const char* name) {
    delivery::PeerIdentity identity;
    identity.peer = 1;
    for (const store::PeerRow& peer : store->peers().rows()) {
      identity.peer = peer.name == "bob" ? peer.key : identity.peer;
    }
    identity.found = found;
    identity.store = name;
    identity.storeEpoch = 1;
    inTransaction(*store, [&] { static_cast<void>(store->peerResets().recordIdentity(identity)); });
  };
  const auto later = [&](const char* origin) {
    FrameResult word;
    word.outcome = Outcome::ack;
    return inTransaction(*store, [&] { return store->settles().applyAckEvent("urn:bob", "m", 0, word, origin); }).kind;
  };
  hear(std::nullopt, "one");
  const store::NewRows fresh = store->discovery().take(100);
  const delivery::SessionClaim claim{fresh.rows[0].session, {fresh.rows[0].key}};
  const auto reply = inTransaction(*store, [&] { return store->claims().claim({&claim, 1}); });
  SUBCASE("lost while it was deferred") {
    REQUIRE(settleOne(*store, settlementOf(reply, delivery::Transition::defer)));
    hear(PeerResetKind::peerLost, "two");
    CHECK(later("one") == Kind::ignored);
    // It waits to be sent to the new one.
    CHECK(later("two") == Kind::ignored);
    CHECK(world.stats().pending == 1);
  }
  SUBCASE("it goes out again") {
    hear(PeerResetKind::peerLost, "two");
    REQUIRE(settleOne(*store, settlementOf(reply, delivery::Transition::release)));
    CHECK(later("two") == Kind::ignored);
    CHECK(world.stats().pending == 1);
  }
  SUBCASE("nothing was lost: in whatever state it is") {
    REQUIRE(settleOne(*store, settlementOf(reply, delivery::Transition::release)));
    CHECK(later("one") == Kind::settled);
  }
}

TEST_CASE("P4: what a word of its own has acknowledged is named as the next frame's predecessor") {
  World world;
  world.options.peers = {{.name = "bob", .agent = "urn:bob"}};
  const auto store = world.open();
  for (const char* id : {"first", "second"}) {
    Frame frame = frameOf("s", "{}", id);
    frame.peer = "bob";
    REQUIRE(enqueueOne(*store, frame).isNew());
  }
  const store::NewRows fresh = store->discovery().take(100);
  const delivery::SessionClaim sent{fresh.rows[0].session, {fresh.rows[0].key}};
  const auto deferred = inTransaction(*store, [&] { return store->claims().claim({&sent, 1}); });
  REQUIRE(settleOne(*store, settlementOf(deferred, delivery::Transition::defer)));
  const delivery::SessionRelease release{.session = sent.session, .previousSequence = {}};
  inTransaction(*store, [&] { store->claims().endClaims({&release, 1}); });
  FrameResult word;
  word.outcome = Outcome::ack;
  REQUIRE(inTransaction(*store, [&] { return store->settles().applyAckEvent("urn:bob", "first", 0, word); }).kind ==
          store::AckEventOutcome::Kind::settled);
  const delivery::SessionClaim claim{fresh.rows[1].session, {fresh.rows[1].key}};
  const auto reply = inTransaction(*store, [&] { return store->claims().claim({&claim, 1}); });
  CHECK(reply.sessions.front().previousSequence == 1);
  CHECK(reply.sessions.front().confirmedSequence == 1);
  CHECK(world.problems() == "");
}

}  // namespace later_word_test
