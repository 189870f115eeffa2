// Goal: P12, what one sender does, or claims to be, takes nothing from another.
// Method: frames that have all in common but one name.

#include <doctest/doctest.h>

#include "store_conformance/inbound.hpp"
#include "store_conformance/marks.hpp"
#include "store_conformance/world.hpp"

namespace isolation_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::Admission;
using store::InboundIdentity;

namespace {

/// Whether there was room for the frame.
bool putFrame(store::Store& store, const DeferredOptions& limits, int sender, std::uint64_t sequence) {
  InboundFrame frame = inboundFrame(sequence);
  frame.source = "urn:" + std::to_string(sender);
  return inTransaction(store, [&] {
    if (store.inbox().isFull(frame, limits)) {
      return false;
    }
    store.inbox().add(frame, true);
    return true;
  });
}

}  // namespace

TEST_CASE("P12: senders that fill the inbox one after the other leave room for others") {
  World world;
  const auto store = world.open();
  DeferredOptions limits;
  limits.framesMax = 160;
  const auto put = [&](int sender, std::uint64_t sequence) { return putFrame(*store, limits, sender, sequence); };
  for (int sender = 0; sender < 17; ++sender) {
    CAPTURE(sender);
    std::uint64_t sequence = 1;
    while (put(sender, sequence)) {
      ++sequence;
    }
    CHECK(sequence > 1);
  }
  CHECK(put(17, 1));
}

TEST_CASE("P12: a sender has half of what is not kept for others, and an inbox that is full takes nothing of anybody") {
  World world;
  const auto store = world.open();
  DeferredOptions limits;
  limits.framesMax = 17;
  const auto put = [&](int sender, std::uint64_t sequence) { return putFrame(*store, limits, sender, sequence); };
  for (std::uint64_t sequence = 1; sequence <= 8; ++sequence) {
    CHECK(put(0, sequence));
  }
  CHECK_FALSE(put(0, 9));
  for (int sender = 1; sender <= 9; ++sender) {
    CHECK(put(sender, 1));
  }
  CHECK_FALSE(put(10, 1));
}

TEST_CASE("P12: a sender's results are forgotten, and those of others stay") {
  World world;
  const auto store = world.open();
  FrameResult refused;
  refused.outcome = Outcome::term;
  refused.code = "no";
  const auto end = [&](const std::string& source, const std::string& origin) {
    InboundFrame frame = inboundFrame(1);
    frame.source = source;
    frame.origin = origin;
    finishRow(*store, claimRow(*store, acceptFrame(*store, frame)).row, refused);
  };
  const std::string peer = "urn:peer";
  const std::string other = "urn:other";
  const std::string origins[] = {"origin", "second"};
  for (const std::string& origin : origins) {
    end(peer, origin);
    end(other, origin);
  }
  const auto isKnown = [&](const std::string& source, const std::string& origin) {
    InboundFrame frame = inboundFrame(1);
    frame.source = source;
    frame.origin = origin;
    return inTransaction(*store, [&] { return store->inbox().resultOf(identityOf(frame)).has_value(); });
  };
  const auto forget = [&](std::optional<std::string_view> origin) {
    store::ForgetPlace place;
    return inTransaction(*store, [&] { return store->inboundMarks().forgetSender(peer, origin, place, 100).marks; });
  };
  CHECK(forget("second") == 1);
  CHECK(isKnown(peer, "origin"));
  CHECK_FALSE(isKnown(peer, "second"));
  CHECK(isKnown(other, "second"));
  CHECK(forget(std::nullopt) == 1);
  CHECK_FALSE(isKnown(peer, "origin"));
  CHECK(isKnown(other, "origin"));
  CHECK(world.problems() == "");
}

TEST_CASE("P12: sessions of other names and other origins are apart") {
  World world;
  const auto store = world.open();
  offer(*store, numbered(1, 0));
  InboundIdentity other = numbered(1, 0);
  other.origin = "elsewhere";
  CHECK(offer(*store, other).admission == Admission::take);
  other = numbered(1, 0);
  other.session = "t";
  CHECK(offer(*store, other).admission == Admission::take);
}

TEST_CASE("P12: the epochs of one sender's stores are apart") {
  World world;
  const auto store = world.open();
  CHECK(offer(*store, numbered(1, 0, 5)).admission == Admission::take);
  InboundIdentity other = numbered(1, 0, 1);
  other.origin = "another";
  CHECK(offer(*store, other).admission == Admission::take);
  CHECK(offer(*store, numbered(2, 1, 4)).admission == Admission::staleEpoch);
}

TEST_CASE("P12: a peer that names another's store and session moves only a mark of its own") {
  World world;
  const auto store = world.open();
  offer(*store, numbered(1, 0));
  InboundIdentity hostile = numbered(1'000, 0, 9);
  hostile.source = "urn:mallory";
  CHECK(offer(*store, hostile).admission == Admission::take);
  CHECK(offer(*store, numbered(1, 0)).admission == Admission::duplicate);
  CHECK(offer(*store, numbered(2, 1)).admission == Admission::take);
}

TEST_CASE("P12: a sender at its limit is put off by the limit's name, counted, and in nobody else's way") {
  World world;
  const auto store = world.open();
  InboundLimits limits;
  std::optional<InboundLimit> expected;
  InboundIdentity more = numbered(1, 0);
  const auto reached = [&](const InboundIdentity& frame) {
    return inTransaction(*store, [&] { return store->inboundMarks().limitReached(frame, limits); });
  };
  offer(*store, numbered(1, 0));
  offer(*store, loose("a"));
  SUBCASE("sessions") {
    limits.sessionsMax = 1;
    more.session = "another";
    expected = InboundLimit::sessions;
  }
  SUBCASE("stores") {
    limits.originsMax = 1;
    more.origin = "another";
    expected = InboundLimit::origins;
  }
  SUBCASE("marks outside sessions") {
    limits.marksMax = 1;
    more = loose("b");
    expected = InboundLimit::marks;
  }
  SUBCASE("bytes") {
    limits.bytesMax = 1;
    more.session = "another";
    expected = InboundLimit::bytes;
  }
  CHECK(reached(more) == expected);
  CHECK(world.stats().refusedLimits == 1);
  InboundIdentity other = more;
  other.source = "urn:other";
  CHECK_FALSE(reached(other));
  // What is there goes on.
  CHECK_FALSE(reached(numbered(2, 1)));
  CHECK(offer(*store, numbered(2, 1)).admission == Admission::take);
}

TEST_CASE("P12: a sender that is forgotten takes nothing of another's along, and what waits keeps its session") {
  World world;
  const auto store = world.open();
  InboundIdentity other = numbered(1, 0);
  other.source = "urn:other";
  for (const InboundIdentity& each : {numbered(1, 0), other, loose("a")}) {
    offer(*store, each);
  }
  acceptFrame(*store, inboundFrame(1, "waits"));
  ForgetReport report;
  store::ForgetPlace place;
  for (int step = 0; step < 100 && !place.isAtEnd(); ++step) {
    const ForgetReport part =
        inTransaction(*store, [&] { return store->inboundMarks().forgetSender("urn:peer", std::nullopt, place, 1); });
    report.sessions += part.sessions;
    report.marks += part.marks;
    report.kept += part.kept;
  }
  CHECK(place.isAtEnd());
  CHECK(report.sessions == 1);
  CHECK(report.marks == 1);
  CHECK(report.kept == 1);
  CHECK(offer(*store, other).admission == Admission::duplicate);
  // Of the epoch that is known of the store, as one of its sessions stays.
  CHECK(offer(*store, numbered(1, 0, 3)).admission == Admission::take);
  CHECK(offer(*store, loose("a")).admission == Admission::take);
  REQUIRE(answerTo(*store, inboundFrame(1, "waits")));
  CHECK(answerTo(*store, inboundFrame(1, "waits"))->outcome == Outcome::defer);
  CHECK(world.problems() == "");
}

}  // namespace isolation_test
