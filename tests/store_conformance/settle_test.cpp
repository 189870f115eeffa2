// Goal: a settle applies exactly when state, owner and claim number are those it was decided on; otherwise it is a
// benign, counted no-op; what the transition table does not contain is refused.
// Method: every pair of state and transition against a row brought into that state; then each part of the guard wrong.

#include <doctest/doctest.h>

#include <set>

#include "ackbox/error.hpp"
#include "delivery/transition.hpp"
#include "store_conformance/claimed_row.hpp"
#include "store_conformance/world.hpp"

namespace settle_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Next;
using delivery::Settlement;
using delivery::Transition;

namespace {

using Row = ClaimedRow;

constexpr MessageState kStates[] = {MessageState::pending, MessageState::sending, MessageState::sent,
                                    MessageState::failed};
constexpr Transition kTransitions[] = {Transition::claim,   Transition::ack,  Transition::defer,   Transition::retry,
                                       Transition::release, Transition::fail, Transition::redrive, Transition::discard};

bool isSettle(Transition transition) {
  return transition != Transition::claim && transition != Transition::redrive;
}

}  // namespace

TEST_CASE("P3: row 23: every pair of state and transition ends where the table says, or throws and changes nothing") {
  for (const MessageState state : kStates) {
    for (const Transition transition : kTransitions) {
      CAPTURE(toString(state));
      CAPTURE(delivery::toString(transition));
      World world;
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

TEST_CASE("P7: row 14: a settle of another state, another claim or a row that is gone is a counted no-op") {
  World world;
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

TEST_CASE("P7: row 14: a settle by another owner with the right claim number is a no-op") {
  World world;
  Row row(world);
  const auto other = world.open();
  row.settlement.transition = Transition::ack;
  CHECK_FALSE(settleOne(*other, row.settlement));
  CHECK(row.now()->state == MessageState::sending);
}

TEST_CASE("P10: a settlement that was applied names its message") {
  World world;
  Row row(world);
  row.settlement.transition = Transition::ack;
  const auto settled = settleOne(*row.store, row.settlement);
  REQUIRE(settled);
  CHECK(settled->messageId == row.id);
  CHECK(settled->sequence == 1);
  CHECK(settled->session == row.settlement.session);
}

TEST_CASE("P8: a retry is charged and keeps its error and due time; a release is free and keeps the last error") {
  World world;
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

TEST_CASE("P11: any bytes of a peer's reason and error are taken, and those of an identity name nothing else") {
  using namespace std::string_literals;
  const std::string strange = "a\0b\xff\xc3"s;
  World world;
  Row row(world);
  row.settlement.reason = strange;
  row.settlement.error = strange;
  CHECK(row.apply(Transition::fail));
  CHECK(row.now()->state == MessageState::failed);
  CHECK(row.now()->reason.starts_with("a"));
  CHECK_FALSE(row.reader->find(row.id + "\0"s));
  CHECK_FALSE(row.reader->find(row.id + "\xff"));
}

TEST_CASE("P3: a settle that is refused in its middle settles nothing, and the next one settles all") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  enqueueOne(*store, frameOf("t"));
  const auto reply = claimNew(*store);
  std::vector<Settlement> both{settlementOf(reply, Transition::ack, 0), settlementOf(reply, Transition::redrive, 1)};
  const auto settle = [&] { return inTransaction(*store, [&] { return store->settles().settle(both); }).size(); };
  CHECK_THROWS_AS(settle(), Error);
  store->rollback();
  const auto reader = world.reader();
  CHECK(reader->stats().sending == 2);
  both[1].transition = Transition::ack;
  CHECK(settle() == 2);
  CHECK(reader->stats().acked == 2);
  CHECK(world.problems() == "");
}

TEST_CASE("P3: a dead letter keeps its reason, and its error is cut between two characters") {
  World world;
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

TEST_CASE("P3: an ACK by message id retires any live state once, even while another owner is sending") {
  for (const MessageState state : kStates) {
    CAPTURE(toString(state));
    World world;
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

TEST_CASE("P3: an ACK of an unknown message is benign") {
  World world;
  const auto store = world.open();
  CHECK_FALSE(inTransaction(*store, [&] { return store->settles().ackById("never"); }));
}

TEST_CASE("P9: row 19: acknowledged rows are kept for their retention and purged after it") {
  World world;
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

TEST_CASE("P3: settled messages go, neighbours and scattered ones alike, and no other does") {
  constexpr std::size_t kRows = 120;
  const World world;
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
  std::set<delivery::MessageKey> left;
  store->discovery().restart();
  for (const delivery::RowSeen& row : store->discovery().take(1'000).rows) {
    left.insert(row.key);
  }
  for (std::size_t place = 0; place < kRows; ++place) {
    CAPTURE(place);
    CHECK(left.contains(reply.sessions[place].rows.at(0).key) != leaving.contains(place));
  }
  CHECK(world.problems() == "");
}

TEST_CASE("P3: of messages that are settled together each goes once, and those of an earlier claim stay") {
  const World world;
  const auto store = world.open();
  constexpr std::size_t kRows = 75;
  inTransaction(*store, [&] {
    for (std::size_t number = 0; number < kRows; ++number) {
      static_cast<void>(store->outbox().enqueue(frameOf("s" + std::to_string(number % 5))));
    }
  });
  const store::ClaimReply reply = claimNew(*store);
  std::vector<delivery::Settlement> settlements;
  for (std::size_t session = 0; session < reply.sessions.size(); ++session) {
    // Each third stays where it is; one is named twice, and one by an earlier claim.
    if (session % 3 != 2) {
      settlements.push_back(settlementOf(reply, delivery::Transition::ack, session));
    }
  }
  const std::size_t acked = settlements.size();
  settlements.push_back(settlements.front());
  settlements.push_back(settlementOf(reply, delivery::Transition::ack, 2));
  ++settlements.back().attempt;
  const auto settled = inTransaction(*store, [&] { return store->settles().settle(settlements); });
  for (std::size_t index = 0; index < settled.size(); ++index) {
    CHECK(settled[index].has_value() == (index < acked));
  }
  const Stats stats = world.stats();
  CHECK(stats.acked == acked);
  CHECK(stats.pending + stats.sending == kRows - acked);
  CHECK(settleOne(*store, settlementOf(reply, delivery::Transition::ack, 2)));
}

}  // namespace settle_test
