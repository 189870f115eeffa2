// Goal: defect 8: a peer's later word settles a message in any live state, once, and only the addressed peer's does.
// Method: one message per state, words from the right peer, from another, from none, and repeated.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "store/dead_letters.hpp"
#include "store/reader.hpp"
#include "store/verify.hpp"
#include "store_world.hpp"

using namespace ackbox;
using namespace ackbox::testing;

TEST_CASE("defect 8: only the addressed peer's word settles a message, once, in any live state") {
  StoreWorld world;
  world.options.peers = {{.name = "bob", .agent = "urn:bob"}, {.name = "eve", .agent = "urn:eve"}, {.name = "mute"}};
  const auto store = world.open();
  using Kind = store::Store::LaterWord::Kind;
  const auto later = [&](const char* agent, const std::string& id, Outcome outcome, std::string code = {}) {
    FrameResult word;
    word.outcome = outcome;
    word.code = std::move(code);
    return inTransaction(*store, [&] { return store->applyWord(agent, id, 0, word); });
  };
  for (const char* id : {"pending", "sending", "sent", "term", "again"}) {
    Frame frame = frameOf(id, "{}", id);
    frame.peer = "bob";
    REQUIRE(enqueueOne(*store, frame).isNew());
  }
  Frame mute = frameOf("mute", "{}", "mute");
  mute.peer = "mute";
  REQUIRE(enqueueOne(*store, mute).isNew());
  const store::NewRows fresh = store->takeNewRows(100);
  for (const std::size_t index : {1U, 2U, 3U, 4U}) {
    const delivery::SessionClaim claim{fresh.rows[index].session, {fresh.rows[index].key}};
    const auto reply = inTransaction(*store, [&] { return store->claim({&claim, 1}); });
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
  CHECK(later("urn:bob", "term", Outcome::term, "no-order").kind == Kind::settled);
  CHECK(later("urn:bob", "term", Outcome::ack).kind == Kind::ignored);
  CHECK(store::Reader(world.file, world.options).find("term")->reason == "no-order");
  CHECK(later("urn:bob", "again", Outcome::nack).kind == Kind::recalled);
  CHECK(later("urn:bob", "again", Outcome::defer).kind == Kind::ignored);
  CHECK(later("urn:bob", "never-heard-of", Outcome::ack).kind == Kind::ignored);
  // A peer without an agent URI cannot be told from others.
  CHECK(later("", "mute", Outcome::ack).kind == Kind::refused);
  const Stats stats = store::Reader(world.file, world.options).stats();
  CHECK(stats.acked == 3);
  CHECK(stats.refusedAcks == 7);
  CHECK(store::verify(world.file, world.options).clean());
}

// Found by the power cut harness: the message was given up twice, redriven twice, and took effect twice.
TEST_CASE("P5: a late word about the number before a redrive does not touch the redriven message") {
  StoreWorld world;
  world.options.peers = {{.name = "bob", .agent = "urn:bob"}};
  const auto store = world.open();
  Frame frame = frameOf("s", "{}", "m");
  frame.peer = "bob";
  REQUIRE(enqueueOne(*store, frame).isNew());
  using Kind = store::Store::LaterWord::Kind;
  const auto later = [&](std::uint64_t sequence, Outcome outcome) {
    FrameResult word;
    word.outcome = outcome;
    return inTransaction(*store, [&] { return store->applyWord("urn:bob", "m", sequence, word); });
  };
  CHECK(later(1, Outcome::term).kind == Kind::settled);
  const auto redriven =
      inTransaction(*store, [&] { return store->deadLetters().change("m", delivery::Transition::redrive, {}); });
  REQUIRE(redriven.receipt.sequence == 2);
  CHECK(later(1, Outcome::term).kind == Kind::ignored);
  CHECK(later(1, Outcome::nack).kind == Kind::ignored);
  CHECK(later(2, Outcome::ack).kind == Kind::settled);
}
