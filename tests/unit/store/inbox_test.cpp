// Goal: the inbox keeps accepted frames until their handler is done: one live owner each, freed by its death, and its
// last word kept where a sender may need it.
// Method: two stores on one file; frames added, claimed and completed by hand; lives in the test's hands.

#include "store/sqlite/inbound/inbox.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "store/digest.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"

namespace inbox_test {

using namespace ackbox;
using namespace ackbox::testing;
using Kind = store::InboxClaim::Kind;

namespace {

constexpr std::chrono::milliseconds kRetention = std::chrono::hours(1);
constexpr store::MarkLife kLife{kRetention, kRetention};

InboundFrame inboundFrame(std::uint64_t sequence, const std::string& session = "s") {
  InboundFrame frame;
  frame.id = session + "-" + std::to_string(sequence);
  frame.source = "urn:peer";
  frame.type = "test";
  frame.data = "[1]";
  frame.session = session;
  frame.origin = session.empty() ? "" : "origin";
  frame.epoch = 3;
  frame.sequence = sequence;
  frame.previousSequence = sequence - 1;
  frame.audience = "urn:me";
  frame.time = WallTime(std::chrono::milliseconds(5));
  frame.expiresAt = WallTime(std::chrono::milliseconds(6));
  frame.traceparent = "00-t";
  frame.correlationId = "c";
  return frame;
}

store::InboundIdentity identityOf(const InboundFrame& frame) {
  store::InboundIdentity identity;
  identity.source = frame.source;
  identity.id = frame.id;
  identity.origin = frame.origin;
  identity.session = frame.session;
  identity.epoch = frame.epoch;
  identity.sequence = frame.sequence;
  identity.previousSequence = frame.previousSequence;
  identity.digest = store::digestOf(frame.type, frame.data);
  return identity;
}

void accept(store::sqlite::SqliteStore& store, const InboundFrame& frame) {
  inTransaction(store, [&] {
    store.inboundMarks().markAccepted(identityOf(frame), 0, kLife);
    store.inbox().add(frame, true);
  });
}

store::InboxClaim claim(store::sqlite::SqliteStore& store, store::InboxKey key) {
  return inTransaction(store, [&] { return store.inbox().claim(key, std::chrono::hours(1)); });
}

FrameResult wordOf(Outcome outcome, std::string code = {}, std::string result = {}) {
  FrameResult word;
  word.outcome = outcome;
  word.code = std::move(code);
  word.result = std::move(result);
  return word;
}

std::optional<FrameResult> wordOn(store::sqlite::SqliteStore& store, const InboundFrame& frame) {
  return inTransaction(store, [&] { return store.inbox().resultOf(identityOf(frame)); });
}

}  // namespace

TEST_CASE("a frame comes out of the inbox as it went in, and the gauge follows") {
  StoreWorld world;
  const auto store = world.open();
  const InboundFrame frame = inboundFrame(1);
  accept(*store, frame);
  accept(*store, frame);
  CHECK(store::sqlite::SqliteReader(world.file, world.options).stats().inbox == 1);
  CHECK(store::sqlite::SqliteReader(world.file, world.options).stats().deferred == 1);
  const store::InboxClaim taken = claim(*store, 1);
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
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("P11: senders that fill the inbox one after the other leave room for others") {
  StoreWorld world;
  const auto store = world.open();
  DeferredOptions limits;
  limits.framesMax = 160;
  const auto put = [&](int sender, std::uint64_t sequence) {
    InboundFrame frame = inboundFrame(sequence);
    frame.source = "urn:" + std::to_string(sender);
    return inTransaction(*store, [&] {
      if (store->inbox().isFull(frame, limits)) {
        return false;
      }
      store->inbox().add(frame, true);
      return true;
    });
  };
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

TEST_CASE("rows of a session share a queue; a frame outside any session has its own") {
  StoreWorld world;
  const auto store = world.open();
  accept(*store, inboundFrame(1, "a"));
  accept(*store, inboundFrame(1, "b"));
  accept(*store, inboundFrame(2, "a"));
  InboundFrame loose = inboundFrame(1, "");
  loose.sequence = 0;
  accept(*store, loose);
  loose.id = "other";
  accept(*store, loose);
  const auto rows = inTransaction(*store, [&] { return store->inbox().rowsAfter(0, 10); });
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].queue == rows[2].queue);
  CHECK(rows[0].queue != rows[1].queue);
  CHECK(rows[3].queue != rows[4].queue);
  CHECK(inTransaction(*store, [&] { return store->inbox().rowsAfter(3, 1); }).front().key == 4);
  CHECK(inTransaction(*store, [&] { return store->inbox().firstWaiting(inboundFrame(9, "a")); }) == 1);
}

TEST_CASE("row 2: a row is one live owner's, and free again when that owner dies") {
  StoreWorld world;
  world.lives = std::make_shared<Lives>();
  auto first = world.open();
  auto second = world.open();
  accept(*first, inboundFrame(1));
  const store::InboxClaim taken = claim(*first, 1);
  REQUIRE(taken.kind == Kind::taken);
  CHECK(claim(*second, 1).kind == Kind::busy);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
  world.lives->erase(1);
  CHECK(inTransaction(*second, [&] { return second->owners().releaseDead(); }) == 1);
  const store::InboxClaim again = claim(*second, 1);
  REQUIRE(again.kind == Kind::taken);
  CHECK(again.row.retryCount == 0);
  // The former owner, if it was only thought dead, completes nothing.
  CHECK_FALSE(inTransaction(*first, [&] { return first->inbox().holds(1, taken.row.starts); }));
  CHECK(inTransaction(*second, [&] { return second->inbox().holds(1, again.row.starts); }));
}

TEST_CASE("a row that is claimed again refuses the completion of its earlier claim") {
  StoreWorld world;
  const auto store = world.open();
  accept(*store, inboundFrame(1));
  const store::InboxClaim first = claim(*store, 1);
  const store::InboxClaim second = claim(*store, 1);
  REQUIRE(second.kind == Kind::taken);
  CHECK_FALSE(inTransaction(*store, [&] { return store->inbox().holds(1, first.row.starts); }));
}

TEST_CASE("a retry is charged and not due before its time; a release is neither") {
  StoreWorld world;
  const auto store = world.open();
  accept(*store, inboundFrame(1));
  REQUIRE(claim(*store, 1).kind == Kind::taken);
  const WallTime later = world.clock->wallNow() + std::chrono::seconds(5);
  inTransaction(*store, [&] { store->inbox().retry(1, later, "boom"); });
  const store::InboxClaim early = claim(*store, 1);
  CHECK(early.kind == Kind::notDue);
  CHECK(early.dueAt == later);
  world.clock->advance(std::chrono::seconds(5));
  CHECK(claim(*store, 1).row.retryCount == 1);
  inTransaction(*store, [&] { store->inbox().release(1); });
  CHECK(claim(*store, 1).row.retryCount == 1);
}

TEST_CASE("P3: a retry that a wrong clock put far ahead is due once the calendar is set back") {
  StoreWorld world;
  const auto store = world.open();
  accept(*store, inboundFrame(1));
  REQUIRE(claim(*store, 1).kind == Kind::taken);
  const WallTime later = world.clock->wallNow() + std::chrono::seconds(5);
  inTransaction(*store, [&] { store->inbox().retry(1, later, "boom"); });
  world.clock->step(-std::chrono::minutes(59));
  CHECK(claim(*store, 1).kind == Kind::notDue);
  world.clock->step(-std::chrono::minutes(1));
  CHECK(claim(*store, 1).kind == Kind::taken);
}

TEST_CASE("what waits, and the word that is kept, are one sender's: another source, origin or session has none of it") {
  StoreWorld world;
  const auto store = world.open();
  accept(*store, inboundFrame(1));
  accept(*store, inboundFrame(2));
  const store::InboxClaim taken = claim(*store, 1);
  inTransaction(*store, [&] { store->inbox().finish(taken.row, wordOf(Outcome::term, "rejected"), kRetention); });
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

TEST_CASE("a sender that asks is told that its frame waits, then the last word, for as long as that is kept") {
  StoreWorld world;
  const auto store = world.open();

  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    accept(*store, inboundFrame(sequence));
  }
  CHECK(wordOn(*store, inboundFrame(1))->outcome == Outcome::defer);
  const FrameResult words[] = {wordOf(Outcome::ack), wordOf(Outcome::ack, {}, "{\"n\":1}"),
                               wordOf(Outcome::term, "rejected")};
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    const store::InboxClaim taken = claim(*store, static_cast<store::InboxKey>(sequence));
    inTransaction(*store, [&] { store->inbox().finish(taken.row, words[sequence - 1], kRetention); });
  }
  // Nothing to say but `ack`, which every known sequence gets: no row is kept.
  CHECK_FALSE(wordOn(*store, inboundFrame(1)));
  CHECK(wordOn(*store, inboundFrame(2))->result == "{\"n\":1}");
  CHECK(wordOn(*store, inboundFrame(3))->outcome == Outcome::term);
  CHECK(wordOn(*store, inboundFrame(3))->code == "rejected");
  const Stats stats = store::sqlite::SqliteReader(world.file, world.options).stats();
  CHECK(stats.inbox == 0);
  CHECK(stats.received == 2);
  world.clock->advance(kRetention + std::chrono::milliseconds(1));
  inTransaction(*store, [&] { store->inbox().purge(1); });
  CHECK(store->database().execAndGet("SELECT count(*) FROM ackbox_inbox_results").getInt() == 1);
  inTransaction(*store, [&] { store->inbox().purge(10); });
  CHECK_FALSE(wordOn(*store, inboundFrame(3)));
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("P10: each broken invariant of the inbox is found") {
  struct Break {
    const char* sql;
    const char* table;
  };
  const Break breaks[] = {
      {"UPDATE ackbox_counters SET inbox=9", "ackbox_counters"},
      {"UPDATE ackbox_inbox SET owner_id=99 WHERE id=1", "ackbox_inbox"},
      {"UPDATE ackbox_inbound_sessions SET accepted_sequence=1", "ackbox_inbox"},
      {"UPDATE ackbox_inbox SET sequence=5 WHERE id=1", "ackbox_inbox"},
      {"UPDATE ackbox_inbox SET last_error='x' WHERE id=1", "ackbox_inbox"},
      {"INSERT INTO ackbox_inbox_results(frame_id,source,origin,session,sequence,outcome,keep_until_ms) "
       "VALUES('s-1','urn:peer','origin','s',1,0,0)",
       "ackbox_inbox"},
  };
  for (const Break& one : breaks) {
    CAPTURE(one.sql);
    StoreWorld world;
    const auto store = world.open();
    accept(*store, inboundFrame(1));
    accept(*store, inboundFrame(2));
    REQUIRE(store::sqlite::verify(world.file, world.options).clean());
    SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec(one.sql);
    const VerifyReport report = store::sqlite::verify(world.file, world.options);
    REQUIRE_FALSE(report.clean());
    CHECK(report.findings.front().table == one.table);
  }
}

TEST_CASE("a failed run leaves its error, cut at 1,000 bytes, and its instant; a claim says since when it runs") {
  StoreWorld world;
  const auto store = world.open();
  accept(*store, inboundFrame(1));
  const store::sqlite::SqliteReader reader(world.file, world.options);
  CHECK(reader.findInbox("urn:peer", "s-1")->state == InboxState::waiting);
  CHECK_FALSE(reader.findInbox("urn:peer", "s-1")->failedAt);
  world.clock->advance(std::chrono::seconds(5));
  REQUIRE(claim(*store, 1).kind == Kind::taken);
  CHECK(reader.findInbox("urn:peer", "s-1")->state == InboxState::running);
  CHECK(reader.findInbox("urn:peer", "s-1")->startedAt == world.clock->wallNow());
  world.clock->advance(std::chrono::seconds(5));
  const WallTime dueAt = world.clock->wallNow() + std::chrono::minutes(1);
  inTransaction(*store, [&] { store->inbox().retry(1, dueAt, std::string(999, 'x') + "\xc3\xa9"); });
  const std::optional<InboxInfo> failed = reader.findInbox("urn:peer", "s-1");
  REQUIRE(failed);
  CHECK(failed->state == InboxState::backoff);
  CHECK(failed->retryCount == 1);
  CHECK(failed->dueAt == dueAt);
  CHECK(failed->failedAt == world.clock->wallNow());
  CHECK(failed->lastError == std::string(999, 'x'));
  CHECK(reader.inboxFrame("urn:peer", "s-1")->data == "[1]");
  CHECK_FALSE(reader.findInbox("urn:other", "s-1"));
  // Without a text it says something all the same, and a claim leaves it.
  world.clock->advance(std::chrono::minutes(2));
  REQUIRE(claim(*store, 1).kind == Kind::taken);
  inTransaction(*store, [&] { store->inbox().retry(1, dueAt, {}); });
  CHECK(reader.findInbox("urn:peer", "s-1")->lastError == "not-now");
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("by hand, a frame is due at once without charges, or ends for good; not while it runs") {
  StoreWorld world;
  const auto store = world.open();
  accept(*store, inboundFrame(1));
  accept(*store, inboundFrame(0, ""));
  const auto retry = [&](store::InboxKey key) {
    return inTransaction(*store, [&] { return store->inbox().retryNow(key); }).receipt;
  };
  const auto discard = [&](store::InboxKey key) {
    return inTransaction(*store,
                         [&] { return store->inbox().discard(key, wordOf(Outcome::term, "no-more"), kRetention); })
        .receipt;
  };
  const auto orders = [&] { return inTransaction(*store, [&] { return store->inbox().orders(); }); };
  REQUIRE(claim(*store, 1).kind == Kind::taken);
  for (const InboxReceipt& refused : {retry(1), discard(1)}) {
    CHECK(refused.refusal == Errc::invalidTransition);
    CHECK(refused.state == InboxState::running);
  }
  CHECK(retry(9).refusal == Errc::unknownMessage);
  CHECK(orders() == 0);
  inTransaction(*store, [&] { store->inbox().retry(1, world.clock->wallNow() + std::chrono::minutes(1), "no"); });
  REQUIRE(claim(*store, 1).kind == Kind::notDue);
  CHECK(retry(1).done());
  CHECK(orders() == 1);
  const store::InboxClaim again = claim(*store, 1);
  REQUIRE(again.kind == Kind::taken);
  CHECK(again.row.retryCount == 0);
  inTransaction(*store, [&] { store->inbox().release(1); });
  // One outside sessions, too: a repetition of it is refused alike.
  CHECK(discard(1).done());
  CHECK(discard(2).done());
  CHECK(orders() == 3);
  for (const InboundFrame& frame : {inboundFrame(1), inboundFrame(0, "")}) {
    REQUIRE(wordOn(*store, frame));
    CHECK(wordOn(*store, frame)->code == "no-more");
    CHECK(inTransaction(*store, [&] { return store->inboundMarks().admit(identityOf(frame)); }).admission ==
          store::Admission::duplicate);
  }
  const store::sqlite::SqliteReader reader(world.file, world.options);
  CHECK(reader.findInbox("urn:peer", "s-1")->state == InboxState::ended);
  CHECK(reader.findInbox("urn:peer", "s-1")->reason == "no-more");
  CHECK(reader.stats().inbox == 0);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("P5: a frame outside sessions is known for the whole retention after its end, however long it waited") {
  StoreWorld world;
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
    accept(*store, frame);
    const store::InboxKey key = inTransaction(*store, [&] { return store->inbox().find(frame.source, frame.id); });
    world.clock->advance(end == "purged before" ? 2 * kRetention : kRetention / 2);
    if (end == "purged before") {
      // Its mark has gone, and it is told by the row.
      CHECK_FALSE(isKnown(frame));
      CHECK(inTransaction(*store, [&] { return store->inbox().waits(identityOf(frame)); }));
    }
    if (end == "discard") {
      (void)inTransaction(*store,
                          [&] { return store->inbox().discard(key, wordOf(Outcome::term, "no-more"), kRetention); });
    } else {
      const store::InboxClaim taken = claim(*store, key);
      REQUIRE(taken.kind == Kind::taken);
      inTransaction(*store, [&] {
        store->inbox().finish(taken.row, wordOf(Outcome::ack, "", end == "result" ? "7" : ""), kRetention);
      });
    }
    CHECK_FALSE(inTransaction(*store, [&] { return store->inbox().waits(identityOf(frame)); }));
    world.clock->advance(kRetention - std::chrono::minutes(1));
    CHECK(isKnown(frame));
    CHECK(wordOn(*store, frame).has_value() == (end == "result" || end == "discard"));
    world.clock->advance(std::chrono::minutes(2));
    CHECK_FALSE(isKnown(frame));
    CHECK_FALSE(wordOn(*store, frame));
  }
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("deferred frames are listed page by page, and by state, source and session") {
  StoreWorld world;
  const auto store = world.open();
  for (std::uint64_t number = 1; number <= 3; ++number) {
    accept(*store, inboundFrame(number));
  }
  InboundFrame foreign = inboundFrame(1, "t");
  foreign.source = "urn:other";
  accept(*store, foreign);
  REQUIRE(claim(*store, 1).kind == Kind::taken);
  const store::sqlite::SqliteReader reader(world.file, world.options);
  const InboxPage first = reader.inbox({}, 3, 0);
  CHECK(first.frames.size() == 3);
  CHECK(first.next == 3);
  REQUIRE(reader.inbox({}, 3, first.next).frames.size() == 1);
  CHECK(reader.inbox({}, 3, first.next).frames[0].source == "urn:other");
  CHECK(reader.inbox({.state = InboxState::running}, 10, 0).frames.size() == 1);
  CHECK(reader.inbox({.state = InboxState::waiting}, 10, 0).frames.size() == 3);
  CHECK(reader.inbox({.state = InboxState::ended}, 10, 0).frames.empty());
  CHECK(reader.inbox({.source = "urn:peer"}, 10, 0).frames.size() == 3);
  CHECK(reader.inbox({.session = "t"}, 10, 0).frames.size() == 1);
  CHECK(reader.inboxSources("t-1") == std::vector<std::string>{"urn:other"});
}

}  // namespace inbox_test
