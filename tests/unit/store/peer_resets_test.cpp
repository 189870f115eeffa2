// Goal: the file knows which numbers were this file's, and what a peer is known to have, as resets are recognised by
// them. Method: the rows of numbers that their messages have left. What follows from a reset, `store_conformance`
// tries.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "store_world.hpp"

namespace peer_resets_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;

TEST_CASE("P3: a number that its message has left is known as ours, until the peer is known to have later ones") {
  StoreWorld world;
  const auto store = world.open();
  const std::string first = enqueueOne(*store, frameOf("s", "1")).messageId;
  Frame state = frameOf("s", "2");
  state.supersedeKey = "k";
  const auto knows = [&](std::uint64_t sequence, const std::string& messageId) {
    SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
    SQLite::Statement query(database, "SELECT count(*) FROM ackbox_vacated_numbers WHERE sequence=? AND message_id=?");
    query.bind(1, static_cast<std::int64_t>(sequence));
    query.bind(2, messageId);
    query.executeStep();
    return query.getColumn(0).getInt() == 1;
  };
  const auto reply = claimNew(*store);
  SUBCASE("by a redrive") {
    settleOne(*store, settlementOf(reply, Transition::fail));
    REQUIRE(inTransaction(*store, [&] {
              return store->deadLetters().change(first, Transition::redrive, {});
            }).receipt.done());
    CHECK(knows(1, first));
  }
  SUBCASE("thrown away") {
    settleOne(*store, settlementOf(reply, Transition::fail));
    REQUIRE(inTransaction(*store, [&] {
              return store->deadLetters().change(first, Transition::discard, {});
            }).receipt.done());
    CHECK(knows(1, first));
  }
  SUBCASE("acknowledged by a word of its own") {
    REQUIRE(inTransaction(*store, [&] { return store->settles().ackById(first); }));
    CHECK(knows(1, first));
  }
  SUBCASE("superseded after it was sent") {
    const std::string tried = enqueueOne(*store, state).messageId;
    const auto second = claimNew(*store);
    settleOne(*store, settlementOf(second, Transition::release));
    enqueueOne(*store, state);
    CHECK(knows(2, tried));
    CHECK_FALSE(knows(1, first));
  }
  SUBCASE("superseded before it was sent: nobody can have it") {
    const std::string untried = enqueueOne(*store, state).messageId;
    enqueueOne(*store, state);
    CHECK_FALSE(knows(2, untried));
  }
  SUBCASE("an answer has acknowledged it") {
    settleOne(*store, settlementOf(reply, Transition::ack));
    CHECK_FALSE(knows(1, first));
  }
}

TEST_CASE(
    "P3 P9: of a session the highest numbers that were left are kept, so many that a crowd of them costs little") {
  StoreWorld world;
  const auto store = world.open();
  for (int count = 0; count < 200; ++count) {
    enqueueOne(*store, frameOf("s", "1"));
    settleOne(*store, settlementOf(claimNew(*store), Transition::fail));
  }
  delivery::MessageKey key = 0;
  for (int count = 0; count < 200; ++count) {
    delivery::Settlement discard;
    discard.key = ++key;
    discard.session = 1;
    discard.from = MessageState::failed;
    discard.transition = Transition::discard;
    settleOne(*store, discard);
  }
  SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("SELECT count(*) FROM ackbox_vacated_numbers").getInt() == 64);
  CHECK(database.execAndGet("SELECT max(sequence) FROM ackbox_vacated_numbers").getInt() == 200);
}

TEST_CASE("P3: what was in a request is not known to be the peer's: only an answer that counts says so") {
  const StoreWorld world;
  const auto store = world.open();
  const std::string id = enqueueOne(*store, frameOf("s", "1")).messageId;
  const auto confirmed = [&] {
    return store->database().execAndGet("SELECT confirmed_sequence FROM ackbox_session_states").getInt64();
  };
  const auto end = [&](const store::ClaimReply& reply, Transition transition) {
    inTransaction(*store, [&] {
      const delivery::Settlement settlement = settlementOf(reply, transition);
      static_cast<void>(store->settles().settle({&settlement, 1}));
      const delivery::SessionRelease release{.session = settlement.session, .dueAt = {}, .previousSequence = {}};
      store->claims().endClaims({&release, 1});
    });
  };
  const store::ClaimReply first = claimNew(*store);
  const delivery::SessionClaim again{first.sessions[0].session, {first.sessions[0].rows[0].key}};
  end(first, Transition::release);
  CHECK(confirmed() == 0);
  end(inTransaction(*store, [&] { return store->claims().claim({&again, 1}); }), Transition::retry);
  CHECK(confirmed() == 0);
  end(inTransaction(*store, [&] { return store->claims().claim({&again, 1}); }), Transition::ack);
  CHECK(confirmed() == 1);
}

}  // namespace peer_resets_test
