// Goal: a frame's outcome is kept where its sender may need it, for as long as it may ask, and for that sender alone.
// Method: frames that are ended in each way, asked for before and after their retention.

#include <doctest/doctest.h>

#include "store_conformance/inbound.hpp"
#include "store_conformance/world.hpp"

namespace outcomes_test {

using namespace ackbox;
using namespace ackbox::testing;
using Kind = store::InboxClaim::Kind;

TEST_CASE(
    "P12: what waits, and the word that is kept, are one sender's: another source, origin or session has none of it") {
  World world;
  const auto store = world.open();
  const store::InboxKey key = acceptFrame(*store, inboundFrame(1));
  acceptFrame(*store, inboundFrame(2));
  const store::InboxClaim taken = claimRow(*store, key);
  finishRow(*store, taken.row, resultOf(Outcome::term, "rejected"));
  const auto look = [&](const InboundFrame& waiting) {
    InboundFrame ended = waiting;
    ended.sequence = 1;
    ended.id = "s-1";
    return inTransaction(*store, [&] {
      std::string found;
      found += store->inbox().firstWaiting(waiting) ? "waits " : "";
      found += store->inbox().resultOf(identityOf(waiting)) ? "told " : "";
      found += store->inbox().resultOf(identityOf(ended)) ? "kept " : "";
      store::InboundIdentity other = identityOf(waiting);
      other.id = "another";
      found += store->inbox().compare(other) == store::Admission::numberTaken ? "taken" : "";
      return found;
    });
  };
  InboundFrame frame = inboundFrame(2);
  CHECK(look(frame) == "waits told kept taken");
  SUBCASE("source") {
    frame.source = "urn:other";
  }
  SUBCASE("origin") {
    frame.origin = "other";
  }
  SUBCASE("session") {
    frame.session = "other";
  }
  CHECK(look(frame).empty());
}

TEST_CASE("P3: a sender that asks is told that its frame waits, then the last word, for as long as that is kept") {
  World world;
  const auto store = world.open();

  std::vector<store::InboxKey> keys;
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    keys.push_back(acceptFrame(*store, inboundFrame(sequence)));
  }
  CHECK(answerTo(*store, inboundFrame(1))->outcome == Outcome::defer);
  const FrameResult words[] = {resultOf(Outcome::ack), resultOf(Outcome::ack, {}, "{\"n\":1}"),
                               resultOf(Outcome::term, "rejected")};
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    const store::InboxClaim taken = claimRow(*store, keys.at(sequence - 1));
    finishRow(*store, taken.row, words[sequence - 1]);
  }
  // Nothing to say but `ack`, which every known sequence gets: no row is kept.
  CHECK_FALSE(answerTo(*store, inboundFrame(1)));
  CHECK(answerTo(*store, inboundFrame(2))->result == "{\"n\":1}");
  CHECK(answerTo(*store, inboundFrame(3))->outcome == Outcome::term);
  CHECK(answerTo(*store, inboundFrame(3))->code == "rejected");
  const Stats stats = world.stats();
  CHECK(stats.inbox == 0);
  CHECK(stats.received == 2);
  world.clock->advance(kOutcomeRetention + std::chrono::milliseconds(1));
  inTransaction(*store, [&] { store->inbox().purge(1); });
  CHECK(answerTo(*store, inboundFrame(2)).has_value() != answerTo(*store, inboundFrame(3)).has_value());
  inTransaction(*store, [&] { store->inbox().purge(10); });
  CHECK_FALSE(answerTo(*store, inboundFrame(3)));
  CHECK(world.problems() == "");
}

TEST_CASE("P5: a frame outside sessions is known for the whole retention after its end, however long it waited") {
  World world;
  const auto store = world.open();
  const auto isKnown = [&](const InboundFrame& frame) {
    return inTransaction(*store, [&] {
      store->inboundMarks().purge(100);
      store->inbox().purge(100);
      return store->inboundMarks().admit(identityOf(frame)).admission == store::Admission::duplicate;
    });
  };
  InboundFrame frame = inboundFrame(0, "");
  for (const std::string end : {"ack", "result", "discard", "purged before"}) {
    CAPTURE(end);
    frame.id = end;
    const store::InboxKey key = acceptFrame(*store, frame);
    world.clock->advance(end == "purged before" ? 2 * kOutcomeRetention : kOutcomeRetention / 2);
    if (end == "purged before") {
      // Its mark has gone, and it is told by the row.
      CHECK_FALSE(isKnown(frame));
      CHECK(inTransaction(*store, [&] { return store->inbox().waits(identityOf(frame)); }));
    }
    if (end == "discard") {
      (void)inTransaction(
          *store, [&] { return store->inbox().discard(key, resultOf(Outcome::term, "no-more"), kOutcomeRetention); });
    } else {
      const store::InboxClaim taken = claimRow(*store, key);
      REQUIRE(taken.kind == Kind::taken);
      inTransaction(*store, [&] {
        const FrameResult result = resultOf(Outcome::ack, "", end == "result" ? "7" : "");
        const store::InboxEnding ending{&taken.row, &result};
        store->inbox().finish({&ending, 1}, kOutcomeRetention);
      });
    }
    CHECK_FALSE(inTransaction(*store, [&] { return store->inbox().waits(identityOf(frame)); }));
    world.clock->advance(kOutcomeRetention - std::chrono::minutes(1));
    CHECK(isKnown(frame));
    CHECK(answerTo(*store, frame).has_value() == (end == "result" || end == "discard"));
    world.clock->advance(std::chrono::minutes(2));
    CHECK_FALSE(isKnown(frame));
    CHECK_FALSE(answerTo(*store, frame));
  }
  CHECK(world.problems() == "");
}

TEST_CASE("P5: outside sessions, what was refused here is taken anew when its sender has redriven it, and not before") {
  const World world;
  const auto store = world.open();
  const InboundFrame frame = inboundFrame(0, "");
  const auto takesAnew = [&](std::chrono::milliseconds later) {
    return inTransaction(*store, [&] {
      store::InboundIdentity identity = identityOf(frame);
      identity.time = *frame.time + later;
      return store->inbox().takesAnew(identity);
    });
  };
  const auto admission = [&] {
    return inTransaction(*store, [&] { return store->inboundMarks().admit(identityOf(frame)).admission; });
  };
  const store::InboxKey key = acceptFrame(*store, frame);
  CHECK_FALSE(takesAnew(std::chrono::milliseconds(1)));
  const store::InboxClaim taken = claimRow(*store, key);
  finishRow(*store, taken.row, resultOf(Outcome::term, "rejected"));
  CHECK_FALSE(takesAnew(std::chrono::milliseconds(0)));
  CHECK(admission() == store::Admission::duplicate);
  CHECK(takesAnew(std::chrono::milliseconds(1)));
  CHECK(admission() == store::Admission::take);
  CHECK_FALSE(answerTo(*store, frame));
  CHECK(world.problems() == "");
}

}  // namespace outcomes_test
