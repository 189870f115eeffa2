// Goal: P9: what a message costs does not grow with what the file keeps: whatever stands in a table, the statements of
// a step find their rows by an index.
// Method: SQLite counts the instructions of its virtual machine; each step is taken in a file that keeps little and in
// one that keeps fifty times as much.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store_world.hpp"

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;
using store::Admission;
using store::InboundIdentity;

namespace {

constexpr store::MarkLife kLife{std::chrono::hours(24), std::chrono::hours(240), std::chrono::hours(24 * 180)};

int countStep(void* count) {
  ++*static_cast<std::int64_t*>(count);
  return 0;
}

/// How many loops and ends of statements `step` goes through in SQLite, which calls back at each of them.
std::int64_t workOf(store::sqlite::SqliteStore& store, const std::function<void()>& step) {
  std::int64_t count = 0;
  sqlite3* connection = store.database().getHandle();
  sqlite3_progress_handler(connection, 1, countStep, &count);
  step();
  sqlite3_progress_handler(connection, 0, nullptr, nullptr);
  return count;
}

void accept(store::sqlite::SqliteStore& store, const std::string& origin, const std::string& session,
            std::uint64_t sequence, const std::string& id) {
  InboundIdentity identity;
  identity.source = "urn:peer";
  identity.id = id;
  if (sequence != 0) {
    identity.origin = origin;
    identity.session = session;
    identity.epoch = 1;
    identity.sequence = sequence;
    identity.previousSequence = sequence - 1;
  }
  inTransaction(store, [&] {
    const auto reply = store.inboundMarks().admit(identity);
    REQUIRE(reply.admission == Admission::take);
    REQUIRE_FALSE(store.inboundMarks().limitReached(identity, {}));
    store.inboundMarks().markProcessed(identity, reply.gap, kLife);
  });
}

InboundFrame inboxFrame(const std::string& name) {
  InboundFrame frame;
  frame.source = "urn:peer";
  frame.origin = "origin0";
  frame.session = "inbox" + name;
  frame.epoch = 1;
  frame.sequence = 1;
  frame.id = "inbox" + name;
  frame.type = "test";
  frame.data = "{}";
  return frame;
}

/// The first of those that wait whose session is this one.
store::InboxKey keyOf(store::sqlite::SqliteStore& store, const std::string& name) {
  for (const store::InboxPlace& place : inTransaction(store, [&] { return store.inbox().rowsAfter(0, 10'000); })) {
    if (place.queue.find("inbox" + name) != std::string::npos) {
      return place.key;
    }
  }
  FAIL("it does not wait");
  return 0;
}

void finish(store::sqlite::SqliteStore& store, store::InboxKey key, const std::string& result) {
  inTransaction(store, [&] {
    const store::InboxClaim claim = store.inbox().claim(key, std::chrono::hours(1));
    REQUIRE(claim.kind == store::InboxClaim::Kind::taken);
    FrameResult outcome;
    outcome.result = result;
    store.inbox().finish(claim.row, outcome, std::chrono::hours(1));
  });
}

/// A file with `size` of everything that is kept.
void fill(store::sqlite::SqliteStore& store, int size) {
  for (int number = 0; number < size; ++number) {
    const std::string name = std::to_string(number);
    for (const std::string& each : {name, "done" + name}) {
      accept(store, "origin0", "inbox" + each, 1, "inbox" + each);
      inTransaction(store, [&] { store.inbox().add(inboxFrame(each), true); });
    }
    finish(store, keyOf(store, "done" + name), "\"kept\"");
    enqueueOne(store, frameOf("acked" + name));
    accept(store, "origin" + name, "s", 1, "i" + name);
    accept(store, "origin0", "s" + name, 1, "j" + name);
    accept(store, "", "", 0, "k" + name);
    enqueueOne(store, frameOf("dead" + name));
  }
  const store::ClaimReply claimed = claimNew(store);
  for (std::size_t session = 0; session < claimed.sessions.size(); ++session) {
    settleOne(store, settlementOf(claimed, session % 2 == 0 ? Transition::ack : Transition::fail, session));
  }
  for (int number = 0; number < size; ++number) {
    enqueueOne(store, frameOf("waiting" + std::to_string(number)));
  }
  static_cast<void>(store.discovery().take(10'000));
}

std::vector<std::pair<std::string, std::int64_t>> workWith(int size) {
  StoreWorld world;
  world.options.ackedRetention = std::chrono::hours(1);
  const auto store = world.open();
  fill(*store, size);
  std::vector<std::pair<std::string, std::int64_t>> work;
  const auto measure = [&](const char* what, const std::function<void()>& step) {
    work.emplace_back(what, workOf(*store, step));
  };
  measure("the first frame of a new store", [&] { accept(*store, "fresh", "s", 1, "a"); });
  measure("the first frame of a session", [&] { accept(*store, "origin0", "fresh", 1, "b"); });
  measure("the next frame of a session", [&] { accept(*store, "origin1", "s", 2, "c"); });
  measure("a frame outside any session", [&] { accept(*store, "", "", 0, "d"); });
  measure("an enqueue into a new session", [&] { enqueueOne(*store, frameOf("fresh")); });
  measure("an enqueue into a session that waits", [&] { enqueueOne(*store, frameOf("waiting1")); });
  store::ClaimReply claimed;
  measure("a claim", [&] { claimed = claimNew(*store); });
  REQUIRE(claimed.sessions.size() == 2);
  measure("an acknowledgement", [&] { settleOne(*store, settlementOf(claimed, Transition::ack, 0)); });
  measure("a dead letter", [&] { settleOne(*store, settlementOf(claimed, Transition::fail, 1)); });
  const std::string deadLetter = claimed.messages.at(1).frame.messageId;
  measure("a redrive by hand", [&] {
    inTransaction(*store,
                  [&] { REQUIRE(store->deadLetters().change(deadLetter, Transition::redrive, {}).receipt.done()); });
  });
  measure("an ACK by id", [&] { inTransaction(*store, [&] { REQUIRE(store->settles().ackById(deadLetter)); }); });
  measure("an enqueue under an id of its own", [&] { enqueueOne(*store, frameOf("own", "{}", "own")); });
  measure("its repetition", [&] { enqueueOne(*store, frameOf("own", "{}", "own")); });
  measure("a session's pause",
          [&] { inTransaction(*store, [&] { store->holds().pauseSession("default", "waiting2"); }); });
  measure("its end", [&] { inTransaction(*store, [&] { store->holds().resumeSession("default", "waiting2"); }); });
  accept(*store, "origin0", "inboxfresh", 1, "inboxfresh");
  measure("a frame for the inbox", [&] {
    inTransaction(*store, [&] {
      const InboundFrame frame = inboxFrame("fresh");
      REQUIRE_FALSE(store->inbox().limitReached(frame, {}));
      REQUIRE_FALSE(store->inbox().firstWaiting(frame));
      store->inbox().add(frame, false);
    });
  });
  const store::InboxKey waits = keyOf(*store, "fresh");
  measure("its end", [&] { finish(*store, waits, "\"done\""); });
  measure("maintenance with nothing to do", [&] {
    inTransaction(*store, [&] {
      store->inboundMarks().purge(64);
      store->inbox().purge(64);
      store->settles().purgeAcked(64);
      store->advanceOldest(64);
    });
  });
  measure("figures", [&] { inTransaction(*store, [&] { static_cast<void>(store->vitals()); }); });
  return work;
}

}  // namespace

TEST_CASE("P9: no step of a message costs more in a file that keeps fifty times as much") {
  const auto small = workWith(20);
  const auto large = workWith(1'000);
  REQUIRE(small.size() == large.size());
  for (std::size_t step = 0; step < small.size(); ++step) {
    CAPTURE(small[step].first);
    CAPTURE(small[step].second);
    CHECK(small[step].second > 0);
    // Some more where a maintenance step falls due; a scan would be hundreds.
    CHECK(large[step].second <= 2 * small[step].second + 20);
  }
}
