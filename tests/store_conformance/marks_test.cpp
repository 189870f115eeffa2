// Goal: P6 and P5's mark: a frame of a session takes effect once, in order, for ever, over visible gaps; a frame
// outside any session once for its retention; a restored sender is told from an honest one.
// Method: a table of frames against one session; a clock that is moved over the retention.

#include <doctest/doctest.h>

#include "store_conformance/marks.hpp"
#include "store_conformance/world.hpp"

namespace marks_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::Admission;
using store::InboundIdentity;

TEST_CASE("P6: frames of a session are taken in order, once, over gaps that are counted") {
  World world;
  const auto store = world.open();
  struct Offer {
    std::uint64_t sequence;
    std::uint64_t previous;
    std::uint64_t epoch;
    Admission expected;
    std::uint64_t accepted;
    std::uint64_t gap;
  };
  const Offer offers[] = {
      {2, 1, 1, Admission::outOfSequence, 0, 0},  // its predecessor never came
      {1, 0, 1, Admission::take, 0, 0},          {1, 0, 1, Admission::duplicate, 1, 0},
      {2, 1, 1, Admission::take, 1, 0},          {5, 2, 1, Admission::take, 2, 2},  // 3 and 4 are dead letters
      {3, 2, 1, Admission::duplicate, 5, 0},                                        // too late: passed over
      {7, 6, 1, Admission::outOfSequence, 5, 0}, {6, 5, 3, Admission::take, 5, 0},  // the sender was opened again
      {7, 6, 2, Admission::staleEpoch, 6, 0},                                       // an older copy of it
      {6, 5, 2, Admission::staleEpoch, 6, 0},    {7, 6, 3, Admission::take, 6, 0},
  };
  for (const Offer& each : offers) {
    CAPTURE(each.sequence);
    CAPTURE(each.epoch);
    const auto reply = offer(*store, numbered(each.sequence, each.previous, each.epoch));
    CHECK(reply.admission == each.expected);
    CHECK(reply.accepted == each.accepted);
    CHECK(reply.gap == each.gap);
  }
  const Stats stats = world.stats();
  CHECK(stats.received == 5);
  CHECK(stats.duplicates == 2);
  CHECK(stats.gaps == 2);
}

TEST_CASE("P3 P6: a fetched frame is taken once, though a newer epoch of its sender was seen before it came") {
  World world;
  const auto store = world.open();
  InboundIdentity other = numbered(1, 0, 2);
  other.session = "t";
  REQUIRE(offer(*store, other).admission == Admission::take);
  InboundIdentity fetched = numbered(1, 0, 1);
  CHECK(offer(*store, fetched).admission == Admission::staleEpoch);
  fetched.isFetched = true;
  CHECK(offer(*store, fetched).admission == Admission::take);
  CHECK(offer(*store, fetched).admission == Admission::duplicate);
  fetched.id = "of another file";
  CHECK(offer(*store, fetched).admission == Admission::numberTaken);
  // What came so leaves the epoch that is known as it is.
  CHECK(offer(*store, numbered(2, 1, 1)).admission == Admission::staleEpoch);
  CHECK(offer(*store, numbered(2, 1, 2)).admission == Admission::take);
  // A session's own frames come from a mailbox in order: an older epoch is that of a restored sender.
  InboundIdentity restored = numbered(3, 2, 1);
  restored.isFetched = true;
  CHECK(offer(*store, restored).admission == Admission::staleEpoch);
}

TEST_CASE("P6: a first frame that is not number one leaves a gap, when its sender stands by nothing before it") {
  World world;
  const auto store = world.open();
  CHECK(offer(*store, numbered(4, 0)).gap == 3);
}

TEST_CASE("P11: whatever numbers peers claim, their gaps add up without overflow") {
  World world;
  const auto store = world.open();
  constexpr std::uint64_t kLargest = (std::uint64_t{1} << 63U) - 1;
  for (const char* origin : {"one", "two", "three"}) {
    InboundIdentity identity = numbered(kLargest, 0);
    identity.origin = origin;
    CHECK(offer(*store, identity).admission == Admission::take);
  }
  CHECK(world.stats().gaps == 3 * (std::uint64_t{1} << 32U));
}

TEST_CASE("P6: a session's mark takes the room of one however many frames came, and it outlives every purge") {
  World world;
  const auto store = world.open();
  for (std::uint64_t sequence = 1; sequence <= 50; ++sequence) {
    offer(*store, numbered(sequence, sequence - 1));
  }
  world.clock->advance(kMarkRetention * 100);
  inTransaction(*store, [&] { store->inboundMarks().purge(1'000); });
  CHECK(offer(*store, numbered(1, 0)).admission == Admission::duplicate);
  const std::vector<InboundSenderStats> senders = world.reader()->inboundSenders(10);
  REQUIRE(senders.size() == 1);
  CHECK(senders[0].sessions == 1);
  CHECK(senders[0].marks == 0);
}

TEST_CASE("P6: row 19: frames outside sessions are known by id and source until their marks may be purged") {
  World world;
  const auto store = world.open();
  CHECK(offer(*store, loose("a")).admission == Admission::take);
  CHECK(offer(*store, loose("a")).admission == Admission::duplicate);
  InboundIdentity otherSource = loose("a");
  otherSource.source = "urn:other";
  CHECK(offer(*store, otherSource).admission == Admission::take);
  InboundIdentity lasting = loose("b");
  lasting.expiresAt = world.clock->wallNow() + kMarkRetention * 2;
  offer(*store, lasting);

  const auto purge = [&](std::size_t limit) {
    return inTransaction(*store, [&] { return store->inboundMarks().purge(limit); });
  };
  world.clock->advance(kMarkRetention);
  CHECK(purge(10) == 0);
  world.clock->advance(std::chrono::milliseconds(1));
  CHECK(purge(1) == 1);
  CHECK(purge(10) == 1);
  CHECK(offer(*store, loose("a")).admission == Admission::take);
  // Its expiry and the tolerated skew of five minutes outlast the retention.
  world.clock->advance(kMarkRetention);
  CHECK(offer(*store, loose("b")).admission == Admission::duplicate);
  world.clock->advance(std::chrono::minutes(5));
  CHECK(purge(10) == 2);
}

TEST_CASE("P11: a frame whose expiry lies at the end of time does not keep its mark for ever") {
  World world;
  const auto store = world.open();
  InboundIdentity endless = loose("endless");
  endless.expiresAt = WallTime::max();
  offer(*store, endless);
  const auto purge = [&] { return inTransaction(*store, [&] { return store->inboundMarks().purge(10); }); };
  world.clock->advance(kMarkLife.most);
  CHECK(purge() == 0);
  world.clock->advance(std::chrono::milliseconds(1));
  CHECK(purge() == 1);
}

TEST_CASE("P6: frames of one commit move a mark together, and their gaps add up") {
  World world;
  InboundIdentity last = numbered(9, 5, 3);
  last.id = "last";
  last.digest = 7;
  {
    const auto store = world.open();
    offer(*store, numbered(2, 0));
    inTransaction(*store, [&] {
      for (const InboundIdentity& each : {numbered(3, 2), numbered(5, 3, 3), last}) {
        const auto reply = store->inboundMarks().admit(each);
        REQUIRE(reply.admission == Admission::take);
        store->inboundMarks().markProcessed(each, reply.gap, kMarkLife);
      }
    });
  }
  const auto store = world.open();
  CHECK(world.stats().gaps == 1 + 1 + 3);
  CHECK(offer(*store, numbered(10, 9, 2)).admission == Admission::staleEpoch);
  CHECK(offer(*store, numbered(9, 5, 3)).admission == Admission::numberTaken);
  CHECK(offer(*store, last).admission == Admission::duplicate);
  last.digest = 8;
  CHECK(offer(*store, last).admission == Admission::idConflict);
}

TEST_CASE("P6: marks are told apart, and kept, however many sessions speak in one commit") {
  World world;
  constexpr std::uint64_t kSessions = 20'500;
  const auto inSession = [](const std::string& name, std::uint64_t sequence) {
    InboundIdentity identity = numbered(sequence, sequence - 1);
    identity.session = name;
    return identity;
  };
  {
    const auto store = world.open();
    inTransaction(*store, [&] {
      for (std::uint64_t session = 0; session < kSessions; ++session) {
        const std::string name = std::to_string(session);
        store->inboundMarks().markProcessed(inSession(name, 1), 0, kMarkLife);
        store->inboundMarks().markProcessed(inSession(name, 2 + session % 3), 0, kMarkLife);
      }
    });
  }
  const auto store = world.open();
  for (const std::uint64_t session : {std::uint64_t{0}, std::uint64_t{1}, kSessions - 501, kSessions - 1}) {
    const std::string name = std::to_string(session);
    CHECK(inTransaction(*store, [&] { return store->inboundMarks().admit(inSession(name, 1)); }).accepted ==
          2 + session % 3);
  }
}

TEST_CASE("P6: a mark that another process moved is seen") {
  World world;
  const auto one = world.open();
  const auto other = world.open();
  CHECK(offer(*one, numbered(1, 0)).admission == Admission::take);
  CHECK(offer(*other, numbered(2, 1)).admission == Admission::take);
  CHECK(offer(*one, numbered(2, 1)).admission == Admission::duplicate);
  CHECK(offer(*one, numbered(3, 2)).admission == Admission::take);
  CHECK(offer(*other, numbered(3, 2)).admission == Admission::duplicate);
}

}  // namespace marks_test
