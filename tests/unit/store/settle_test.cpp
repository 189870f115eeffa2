// Goal: a settle applies exactly when state, owner and claim number are those it was decided on; otherwise it is a
// benign, counted no-op; what the transition table does not contain is refused.
// Method: every pair of state and transition against a row brought into that state; then each part of the guard wrong.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "ackbox/error.hpp"
#include "delivery/transition.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"

namespace settle_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Next;
using delivery::Settlement;
using delivery::Transition;

namespace {

struct Row {
  explicit Row(StoreWorld& world) : store(world.open()), reader(world.file, world.options) {
    id = enqueueOne(*store, frameOf("s", "{}")).messageId;
    reply = claimNew(*store);
    settlement = settlementOf(reply, Transition::release);
  }

  // From `sending`, where every row here begins.
  void bringTo(MessageState state) {
    if (state == MessageState::pending) {
      apply(Transition::release);
    } else if (state == MessageState::sent) {
      apply(Transition::defer);
    } else if (state == MessageState::failed) {
      apply(Transition::fail);
    }
    settlement.from = state;
  }
  bool apply(Transition transition) {
    settlement.transition = transition;
    return settleOne(*store, settlement).has_value();
  }
  std::optional<MessageInfo> now() const { return reader.find(id); }
  Stats stats() const { return reader.stats(); }

  std::unique_ptr<store::sqlite::SqliteStore> store;
  store::sqlite::SqliteReader reader;
  std::string id;
  store::ClaimReply reply;
  Settlement settlement;
};

constexpr MessageState kStates[] = {MessageState::pending, MessageState::sending, MessageState::sent,
                                    MessageState::failed};
constexpr Transition kTransitions[] = {Transition::claim,   Transition::ack,  Transition::defer,   Transition::retry,
                                       Transition::release, Transition::fail, Transition::redrive, Transition::discard};

bool isSettle(Transition transition) {
  return transition != Transition::claim && transition != Transition::redrive;
}

}  // namespace

TEST_CASE("row 23: every pair of state and transition ends where the table says, or throws and changes nothing") {
  for (const MessageState state : kStates) {
    for (const Transition transition : kTransitions) {
      CAPTURE(toString(state));
      CAPTURE(delivery::toString(transition));
      StoreWorld world;
      Row row(world);
      row.bringTo(state);
      const Next expected = delivery::next(state, transition);
      if (expected == Next::illegal || !isSettle(transition)) {
        CHECK_THROWS_AS(row.apply(transition), Error);
        row.store->rollback();
        CHECK(row.now()->state == state);
        continue;
      }
      CHECK(row.apply(transition));
      const auto after = row.now();
      CHECK(after.has_value() == (expected != Next::acked && expected != Next::gone));
      if (after) {
        CHECK(static_cast<int>(after->state) == static_cast<int>(expected) - static_cast<int>(Next::pending));
      }
      CHECK(row.stats().staleSettles == 0);
    }
  }
}

TEST_CASE("row 14: a settle of another state, another claim or a row that is gone is a counted no-op") {
  StoreWorld world;
  Row row(world);
  Settlement wrong = row.settlement;
  wrong.transition = Transition::ack;
  SUBCASE("state") {
    wrong.from = MessageState::pending;
  }
  SUBCASE("an earlier claim") {
    wrong.attempt -= 1;
  }
  SUBCASE("a later claim") {
    wrong.attempt += 1;
  }
  SUBCASE("row") {
    wrong.key += 1;
  }
  CHECK_FALSE(settleOne(*row.store, wrong));
  CHECK(row.now()->state == MessageState::sending);
  CHECK(row.stats().staleSettles == 1);
}

TEST_CASE("row 14: a settle by another owner with the right claim number is a no-op") {
  StoreWorld world;
  Row row(world);
  const auto other = world.open();
  row.settlement.transition = Transition::ack;
  CHECK_FALSE(settleOne(*other, row.settlement));
  CHECK(row.now()->state == MessageState::sending);
}

TEST_CASE("a settlement that was applied names its message") {
  StoreWorld world;
  Row row(world);
  row.settlement.transition = Transition::ack;
  const auto settled = settleOne(*row.store, row.settlement);
  REQUIRE(settled);
  CHECK(settled->messageId == row.id);
  CHECK(settled->sequence == 1);
  CHECK(settled->session == row.settlement.session);
}

TEST_CASE("a retry is charged and keeps its error and due time; a release is free and keeps the last error") {
  StoreWorld world;
  Row row(world);
  row.settlement.error = "no luck";
  row.settlement.dueAt = world.clock->wallNow() + std::chrono::seconds(3);
  CHECK(row.apply(Transition::retry));
  CHECK(row.now()->retryCount == 1);
  CHECK(row.now()->lastError == "no luck");
  CHECK(row.now()->dueAt == row.settlement.dueAt);
  CHECK(row.stats().totalRetries == 1);

  const delivery::SessionRelease released{.session = row.settlement.session, .dueAt = {}, .previousSequence = {}};
  inTransaction(*row.store, [&] { row.store->claims().endClaims({&released, 1}); });
  const delivery::SessionClaim claim{row.settlement.session, {row.settlement.key}};
  row.reply = inTransaction(*row.store, [&] { return row.store->claims().claim({&claim, 1}); });
  CHECK(row.reply.messages.at(0).frame.retryCount == 1);
  row.settlement = settlementOf(row.reply, Transition::release);
  CHECK(row.settlement.attempt == 2);
  CHECK(row.apply(Transition::release));
  CHECK(row.now()->retryCount == 1);
  CHECK(row.now()->lastError == "no luck");
}

namespace {

// Ends the claim of `row` with what `settlement` says, and claims it again.
void failAndClaim(Row& row, const Settlement& settlement) {
  Settlement failed = settlement;
  failed.key = row.settlement.key;
  failed.session = row.settlement.session;
  failed.attempt = row.settlement.attempt;
  REQUIRE(settleOne(*row.store, failed));
  const delivery::SessionRelease released{.session = failed.session, .dueAt = {}, .previousSequence = {}};
  inTransaction(*row.store, [&] { row.store->claims().endClaims({&released, 1}); });
  const delivery::SessionClaim claim{failed.session, {failed.key}};
  row.reply = inTransaction(*row.store, [&] { return row.store->claims().claim({&claim, 1}); });
  REQUIRE(row.reply.messages.size() == 1);
  row.settlement = settlementOf(row.reply, Transition::release);
}

Settlement failure(std::string error, Transition transition = Transition::release) {
  Settlement settlement;
  settlement.transition = transition;
  settlement.error = std::move(error);
  return settlement;
}

}  // namespace

TEST_CASE("a message without a failed attempt has no log of them, before and after it was deferred") {
  StoreWorld world;
  Row row(world);
  const auto logs = [&] {
    return SQLite::Database(world.file).execAndGet("SELECT count(attempt_log) FROM ackbox_outbox").getInt();
  };
  CHECK(logs() == 0);
  row.settlement.error = "later";
  CHECK(row.apply(Transition::defer));
  CHECK(row.now()->attempts.empty());
  CHECK(logs() == 0);
}

TEST_CASE("failed attempts are logged, the newest first; one that failed as the last one did is counted there") {
  StoreWorld world;
  Row row(world);
  Settlement refused = failure("connection refused");
  refused.took = std::chrono::milliseconds(3);
  const WallTime first = world.clock->wallNow();
  for (int count = 0; count < 300; ++count) {
    failAndClaim(row, refused);
    world.clock->advance(std::chrono::seconds(1));
  }
  Settlement busy = failure("no luck: \"\xC3\xA4\"\n", Transition::retry);
  busy.took = std::chrono::milliseconds(70);
  busy.status = 200;
  failAndClaim(row, busy);
  const std::vector<AttemptInfo> attempts = row.now()->attempts;
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0].error == busy.error);
  CHECK(attempts[0].outcome == "retry");
  CHECK(attempts[0].status == 200);
  CHECK(attempts[0].count == 1);
  CHECK(attempts[0].took == busy.took);
  CHECK(attempts[0].firstAt == first + std::chrono::seconds(300));
  CHECK(attempts[1].error == "connection refused");
  CHECK(attempts[1].outcome == "release");
  CHECK(attempts[1].status == 0);
  CHECK(attempts[1].count == 300);
  CHECK(attempts[1].firstAt == first);
  CHECK(attempts[1].lastAt == first + std::chrono::seconds(299));

  // The same error with another status, or charged, is another way to fail.
  Settlement other = busy;
  other.status = 503;
  failAndClaim(row, other);
  other.transition = Transition::release;
  failAndClaim(row, other);
  CHECK(row.now()->attempts.size() == 4);
}

TEST_CASE("of many failed attempts the last 8 are kept, cut between two characters, also over a redrive") {
  StoreWorld world;
  Row row(world);
  for (int count = 0; count < 20; ++count) {
    failAndClaim(row, failure(std::to_string(count)));
  }
  row.settlement.error = std::string(199, 'x') + "\xC3\xA4";
  row.settlement.reason = "rejected";
  REQUIRE(row.apply(Transition::fail));
  const auto check = [&] {
    const std::vector<AttemptInfo> attempts = row.now()->attempts;
    REQUIRE(attempts.size() == 8);
    CHECK(attempts.front().error == std::string(199, 'x'));
    CHECK(attempts.front().outcome == "fail");
    CHECK_FALSE(attempts.front().took);
    CHECK(attempts[1].error == "19");
    CHECK(attempts.back().error == "13");
    CHECK(
        SQLite::Database(world.file).execAndGet("SELECT json_array_length(attempt_log) FROM ackbox_outbox").getInt() ==
        8);
  };
  check();
  inTransaction(*row.store, [&] { return row.store->deadLetters().change(row.id, Transition::redrive, {}); });
  CHECK(row.now()->state == MessageState::pending);
  check();
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("what stands in a row as its log and is none is no error, and the next failed attempt begins a new one") {
  for (const char* log :
       {"no JSON", "{}", "[", "17", "[1,\"x\",null]", "\"text\"", "[[]]", "[{\"at_ms\":\"x\"}]", ""}) {
    CAPTURE(log);
    StoreWorld world;
    Row row(world);
    {
      SQLite::Database database(world.file, SQLite::OPEN_READWRITE);
      SQLite::Statement statement(database, "UPDATE ackbox_outbox SET attempt_log=?");
      statement.bind(1, log);
      statement.exec();
    }
    CHECK(row.now()->attempts.size() <= 1);
    failAndClaim(row, failure("no luck"));
    REQUIRE_FALSE(row.now()->attempts.empty());
    CHECK(row.now()->attempts.front().error == "no luck");
  }
}

TEST_CASE("P3: a settle that is refused in its middle settles nothing, and the next one settles all") {
  StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  enqueueOne(*store, frameOf("t"));
  const auto reply = claimNew(*store);
  std::vector<Settlement> both{settlementOf(reply, Transition::ack, 0), settlementOf(reply, Transition::redrive, 1)};
  const auto settle = [&] { return inTransaction(*store, [&] { return store->settles().settle(both); }).size(); };
  CHECK_THROWS_AS(settle(), Error);
  store->rollback();
  const store::sqlite::SqliteReader reader(world.file, world.options);
  CHECK(reader.stats().sending == 2);
  both[1].transition = Transition::ack;
  CHECK(settle() == 2);
  CHECK(reader.stats().acked == 2);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("an error is kept whole up to a thousand bytes, and no further") {
  for (const std::size_t bytes : {std::size_t{1'000}, std::size_t{1'001}}) {
    StoreWorld world;
    Row row(world);
    row.settlement.error = std::string(bytes, 'x');
    CHECK(row.apply(Transition::retry));
    CHECK(row.now()->lastError.size() == 1'000);
  }
}

TEST_CASE("P3: a dead letter keeps its reason, and its error is cut between two characters") {
  StoreWorld world;
  Row row(world);
  row.settlement.reason = "rejected";
  row.settlement.error = std::string(999, 'x') + "é" + std::string(100, 'y');
  CHECK(row.apply(Transition::fail));
  CHECK(row.now()->reason == "rejected");
  CHECK(row.now()->lastError == std::string(999, 'x'));
  CHECK(row.stats().failed == 1);
  CHECK(row.stats().failedTotal == 1);
  CHECK(row.stats().pendingBytes == 0);
}

TEST_CASE("an ACK by message id retires any live state once, even while another owner is sending") {
  for (const MessageState state : kStates) {
    CAPTURE(toString(state));
    StoreWorld world;
    Row row(world);
    row.bringTo(state);
    const auto other = world.open();
    const auto acked = inTransaction(*other, [&] { return other->settles().ackById(row.id); });
    CHECK(acked.has_value() == (state != MessageState::failed));
    if (acked) {
      CHECK(acked->message.key == row.settlement.key);
      CHECK(acked->peer == "default");
      CHECK(acked->session == "s");
    }
    CHECK_FALSE(inTransaction(*other, [&] { return other->settles().ackById(row.id); }));
    CHECK(row.stats().acked == (acked ? 1 : 0));
  }
}

TEST_CASE("an ACK of an unknown message is benign") {
  StoreWorld world;
  const auto store = world.open();
  CHECK_FALSE(inTransaction(*store, [&] { return store->settles().ackById("never"); }));
}

TEST_CASE("row 19: acknowledged rows are kept for their retention and purged after it") {
  StoreWorld world;
  world.options.ackedRetention = std::chrono::seconds(10);
  Row row(world);
  CHECK(row.apply(Transition::ack));
  CHECK(row.now()->state == MessageState::acked);
  CHECK(enqueueOne(*row.store, frameOf("s", "{}", row.id)).status == EnqueueStatus::duplicate);
  const auto purge = [&] { return inTransaction(*row.store, [&] { return row.store->settles().purgeAcked(100); }); };
  CHECK(purge() == 0);
  world.clock->advance(std::chrono::seconds(10));
  CHECK(purge() == 1);
  CHECK_FALSE(row.now());
  CHECK(row.stats().acked == 1);
}

TEST_CASE("settled messages go, neighbours and scattered ones alike, and no other does") {
  constexpr std::size_t kRows = 120;
  const StoreWorld world;
  const auto store = world.open();
  inTransaction(*store, [&] {
    for (std::size_t row = 0; row < kRows; ++row) {
      static_cast<void>(store->outbox().enqueue(frameOf("s" + std::to_string(row))));
    }
  });
  const store::ClaimReply reply = claimNew(*store);
  REQUIRE(reply.sessions.size() == kRows);
  // Runs below, at and above the length from which they are worth a statement, and more scattered ones than one takes.
  std::set<std::size_t> leaving;
  for (const auto& [first, end] : {std::pair(0, 7), std::pair(8, 16), std::pair(17, 40)}) {
    for (int place = first; place < end; ++place) {
      leaving.insert(static_cast<std::size_t>(place));
    }
  }
  for (std::size_t place = 41; place < kRows; place += 2) {
    leaving.insert(place);
  }
  std::vector<delivery::Settlement> settlements;
  for (const std::size_t place : leaving) {
    // From the last to the first: their order is no help.
    settlements.insert(settlements.begin(), settlementOf(reply, delivery::Transition::ack, place));
  }
  for (const auto& settled : inTransaction(*store, [&] { return store->settles().settle(settlements); })) {
    REQUIRE(settled);
  }
  std::set<std::size_t> left;
  SQLite::Statement query(store->database(), "SELECT id FROM ackbox_outbox");
  while (query.executeStep()) {
    left.insert(static_cast<std::size_t>(query.getColumn(0).getInt64()) - 1);
  }
  for (std::size_t place = 0; place < kRows; ++place) {
    CAPTURE(place);
    CHECK(left.contains(place) != leaving.contains(place));
  }
  CHECK(store::sqlite::verify(world.file, world.options).findings.empty());
}

}  // namespace settle_test
