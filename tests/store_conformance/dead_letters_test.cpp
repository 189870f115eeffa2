// Goal: a redrive or a discard by hand is one guarded transition, counted exactly; many are done in slices that look at
// a bounded number of dead letters and at nothing else.
// Method: dead letters made by settles; slices of two rows; the verifier as the judge of the counters.

#include <doctest/doctest.h>

#include <string>
#include <tuple>
#include <vector>

#include "ackbox/error.hpp"
#include "store_conformance/failed_messages.hpp"
#include "store_conformance/world.hpp"

namespace dead_letters_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;

namespace {

/// A store whose messages have all failed.
struct Failed : FailedMessages<World> {
  using FailedMessages::FailedMessages;

  store::HandChange change(std::string_view id, Transition transition) {
    return inTransaction(*store, [&] { return store->deadLetters().change(id, transition, "by hand"); });
  }
  store::SliceReport slice(const store::DeadLetterSlice& from, Transition transition) {
    return inTransaction(*store, [&] { return store->deadLetters().change(from, transition, 2); });
  }
  [[nodiscard]] std::optional<MessageInfo> find(std::string_view id) const { return world.find(id); }
  [[nodiscard]] std::unique_ptr<const store::Reader> reader() const { return world.reader(); }
};

}  // namespace

TEST_CASE("P4: row 8: a redriven message keeps its id, data and expiry, and takes its session's next number") {
  Failed failed({{"a", "s"}, {"b", "s"}});
  std::ignore = failed.store->discovery().take(10);
  failed.world.clock->advance(std::chrono::hours(1));
  const store::HandChange change = failed.change("a", Transition::redrive);
  CHECK(change.receipt.done());
  CHECK(change.receipt.sequence == 3);
  const auto found = failed.find("a");
  CHECK(found->state == MessageState::pending);
  CHECK(found->sequence == 3);
  CHECK(found->retryCount == 0);
  CHECK(found->enqueuedAt == failed.world.clock->wallNow());
  CHECK(enqueueOne(*failed.store, frameOf("s")).sequence == 4);
  const auto newRows = failed.store->discovery().take(10).rows;
  REQUIRE(newRows.size() == 2);
  const store::ClaimReply reply = inTransaction(*failed.store, [&] {
    const delivery::SessionClaim claim{newRows[0].session, {newRows[0].key, newRows[1].key}};
    return failed.store->claims().claim({&claim, 1});
  });
  REQUIRE(reply.messages.size() == 2);
  CHECK(reply.messages[0].frame.data == R"({"of":"a"})");
  CHECK(failed.world.problems() == "");
}

TEST_CASE("P4: an acknowledged message that is repeated keeps its id and takes its session's next number") {
  World world;
  world.options.ackedRetention = std::chrono::hours(1);
  const auto store = world.open();
  Frame brief = frameOf("s", "{}", "brief");
  brief.expiresAt = world.clock->wallNow() + std::chrono::minutes(1);
  Frame alone = frameOf("", "{}", "alone");
  for (const Frame& frame : {frameOf("s", R"({"of":"a"})", "a"), brief, alone, frameOf("s", "{}", "live")}) {
    REQUIRE(enqueueOne(*store, frame).isNew());
  }
  const auto ack = [&](const char* id) {
    return inTransaction(*store, [&] { return store->settles().ackById(id).has_value(); });
  };
  const auto change = [&](const char* id) {
    return inTransaction(*store, [&] { return store->deadLetters().change(id, Transition::repeat, {}).receipt; });
  };
  CHECK(change("a").refusal == Errc::invalidTransition);
  CHECK(change("nobody").refusal == Errc::unknownMessage);
  CHECK((ack("a") && ack("brief") && ack("alone")));
  world.clock->advance(std::chrono::minutes(1));
  CHECK(change("brief").refusal == Errc::invalidTransition);
  CHECK(change("brief").state == MessageState::acked);
  const ChangeReceipt repeated = change("a");
  CHECK(repeated.done());
  CHECK(repeated.sequence == 4);
  CHECK(world.find("a")->state == MessageState::pending);
  CHECK(world.find("a")->enqueuedAt == world.clock->wallNow());
  CHECK(world.stats().pending == 2);
  CHECK(world.stats().enqueued == 4);
  CHECK(world.problems() == "");
  // By keys: those that are not acknowledged, or have expired, are left out.
  std::vector<delivery::MessageKey> keys;
  for (const char* id : {"a", "brief", "alone", "live"}) {
    keys.push_back(world.find(id)->row);
  }
  CHECK(inTransaction(*store, [&] { return store->deadLetters().repeat(keys); }) == 1);
  CHECK(world.find("alone")->state == MessageState::pending);
  CHECK(inTransaction(*store, [&] { return store->deadLetters().repeat(keys); }) == 0);
  CHECK((ack("a") && ack("alone") && ack("live")));
  CHECK(world.stats().acked == 6);
  CHECK(world.stats().pending == 0);
  CHECK(world.problems() == "");
}

TEST_CASE("P10: a message says which one it repeats: itself, or the first of its copies, also when it is redriven") {
  World world;
  world.options.ackedRetention = std::chrono::hours(1);
  const auto store = world.open();
  Frame copy = frameOf("s", "{}", "copy");
  copy.resentOf = "elsewhere";
  for (const Frame& frame : {frameOf("s", "{}", "named"), copy, frameOf("s", "{}", "dead"), frameOf("s", "{}")}) {
    REQUIRE(enqueueOne(*store, frame).isNew());
  }
  const store::ClaimReply first = claimNew(*store);
  REQUIRE(first.messages.size() == 4);
  const std::string unnamed = first.messages[3].frame.messageId;
  std::vector<delivery::MessageKey> keys;
  inTransaction(*store, [&] {
    for (const store::ClaimedMessage& message : first.messages) {
      CHECK(store->settles().ackById(message.frame.messageId).has_value());
    }
    const delivery::SessionRelease released{.session = first.sessions[0].session, .previousSequence = 4};
    store->claims().endClaims({&released, 1});
  });
  inTransaction(*store, [&] {
    CHECK(store->deadLetters().change("dead", Transition::repeat, {}).receipt.done());
    CHECK(store->deadLetters().change("dead", Transition::fail, "by hand").receipt.done());
    CHECK(store->deadLetters().change("dead", Transition::redrive, {}).receipt.done());
    CHECK(store->deadLetters().change("named", Transition::repeat, {}).receipt.done());
  });
  for (const std::string& id : {std::string("copy"), unnamed}) {
    keys.push_back(world.find(id)->row);
  }
  CHECK(inTransaction(*store, [&] { return store->deadLetters().repeat(keys); }) == 2);
  CHECK(world.problems() == "");
  const store::ClaimReply again = claimNew(*store);
  REQUIRE(again.messages.size() == 4);
  CHECK(again.messages[0].frame.resentOf == "dead");
  CHECK(again.messages[1].frame.resentOf == "named");
  CHECK(again.messages[2].frame.resentOf == "elsewhere");
  CHECK(again.messages[3].frame.resentOf == unnamed);
  CHECK(again.messages[3].frame.messageId == unnamed);
}

TEST_CASE("P3: row 23: what the transition table does not contain is refused, and changes nothing") {
  Failed failed({{"a", "s"}});
  enqueueOne(*failed.store, frameOf("t", "{}", "live"));
  for (const Transition transition : {Transition::redrive, Transition::discard}) {
    const ChangeReceipt receipt = failed.change("live", transition).receipt;
    CHECK(receipt.refusal == Errc::invalidTransition);
    CHECK(receipt.state == MessageState::pending);
    CHECK(failed.change("nobody", transition).receipt.refusal == Errc::unknownMessage);
  }
  CHECK(failed.change("a", Transition::fail).receipt.refusal == Errc::invalidTransition);
  CHECK(failed.find("a")->reason == "rejected");
  claimNew(*failed.store);
  const ChangeReceipt inFlight = failed.change("live", Transition::fail).receipt;
  CHECK(inFlight.refusal == Errc::invalidTransition);
  CHECK(inFlight.state == MessageState::sending);
  CHECK(failed.world.problems() == "");
}

TEST_CASE("P9: a slice looks at so many dead letters, changes those chosen, and says where the next begins") {
  Failed failed({{"a", "s"}, {"b", "t"}, {"c", "s"}, {"d", "s"}});
  store::DeadLetterSlice slice;
  slice.filter.session = "s";
  store::SliceReport report = failed.slice(slice, Transition::redrive);
  CHECK(report.changed == 1);
  CHECK(report.more);
  report = failed.slice(report.next, Transition::redrive);
  CHECK(report.changed == 2);
  CHECK(report.more);
  // What was redriven stands above the key at which the first slice said the work ends, even if it fails again.
  report = failed.slice(report.next, Transition::redrive);
  CHECK(report.changed == 0);
  CHECK_FALSE(report.more);
  CHECK(failed.find("a")->sequence == 4);
  CHECK(failed.find("c")->sequence == 5);
  CHECK(failed.find("d")->sequence == 6);
  CHECK(failed.find("b")->state == MessageState::failed);
  CHECK(failed.world.problems() == "");
}

TEST_CASE("P3: a bulk change goes on past slices in which nothing was chosen, and past one that ends with the work") {
  for (const Transition transition : {Transition::redrive, Transition::discard}) {
    Failed failed({{"a", "t"}, {"b", "t"}, {"c", "t"}, {"d", "t"}, {"e", "s"}, {"f", "s"}});
    store::DeadLetterSlice slice;
    slice.filter.session = "s";
    std::size_t changed = 0;
    std::size_t slices = 0;
    for (bool more = true; more; ++slices) {
      REQUIRE(slices < 10);
      const store::SliceReport report = failed.slice(slice, transition);
      slice = report.next;
      changed += report.changed;
      more = report.more;
    }
    CHECK(changed == 2);
    for (const char* untouched : {"a", "b", "c", "d"}) {
      CHECK(failed.find(untouched)->state == MessageState::failed);
    }
    for (const char* chosen : {"e", "f"}) {
      const auto found = failed.find(chosen);
      CHECK(found.has_value() == (transition == Transition::redrive));
      CHECK((!found || found->state == MessageState::pending));
    }
    CHECK(failed.world.problems() == "");
  }
}

TEST_CASE(
    "P3: a bulk change ends though what it redrives fails again under its eyes, and takes each dead letter once") {
  Failed failed({{"a", "s"}, {"b", "s"}, {"c", "s"}});
  std::size_t changed = 0;
  store::SliceReport report;
  do {
    report = failed.slice(report.next, Transition::redrive);
    changed += report.changed;
    REQUIRE(changed < 10);
    for (const char* id : {"a", "b", "c"}) {
      static_cast<void>(failed.change(id, Transition::fail));
    }
  } while (report.more);
  CHECK(changed == 3);
  CHECK(failed.world.problems() == "");
}

TEST_CASE("P7: row 23: what is claimed in this very transaction is in flight for a change by hand, too") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s", "{}", "a"));
  enqueueOne(*store, frameOf("t", "{}", "b"));
  const store::NewRows fresh = store->discovery().take(10);
  inTransaction(*store, [&] {
    const delivery::SessionClaim claim{fresh.rows.front().session, {fresh.rows.front().key}};
    REQUIRE(store->claims().claim({&claim, 1}).messages.size() == 1);
    CHECK(store->deadLetters().change("a", Transition::fail, {}).receipt.refusal == Errc::invalidTransition);
    CHECK(store->deadLetters().change("b", Transition::fail, {}).receipt.done());
  });
  CHECK(world.problems() == "");
}

TEST_CASE("P3: a discarded dead letter is gone, and its id is free again") {
  Failed failed({{"a", "s"}, {"b", "s"}});
  CHECK(failed.change("a", Transition::discard).receipt.done());
  CHECK_FALSE(failed.find("a"));
  CHECK(enqueueOne(*failed.store, frameOf("s", "{}", "a")).isNew());
  CHECK(failed.slice({}, Transition::discard).changed == 1);
  CHECK(failed.world.stats().failed == 0);
  CHECK(failed.world.problems() == "");
}

TEST_CASE("P9: a page of dead letters looks no further than it must, and pages follow one another without a gap") {
  Failed failed({{"a", "s"}, {"b", "t"}, {"c", "s"}});
  const auto reader = failed.reader();
  DeadLetterPage page = reader->deadLetters({}, 2, 0);
  REQUIRE(page.messages.size() == 2);
  CHECK(page.messages[0].messageId == "a");
  CHECK(page.messages[1].messageId == "b");
  CHECK(page.messages[0].dueAt == failed.world.clock->wallNow());
  page = reader->deadLetters({}, 2, page.next);
  REQUIRE(page.messages.size() == 1);
  CHECK(page.messages[0].messageId == "c");
  CHECK(page.next == 0);

  DeadLetterFilter filter;
  filter.session = "t";
  CHECK(reader->deadLetters(filter, 10, 0).messages.size() == 1);
  filter = {};
  filter.type = "none";
  CHECK(reader->deadLetters(filter, 10, 0).messages.empty());
  filter = {};
  filter.reason = "expired";
  CHECK(reader->deadLetters(filter, 10, 0).messages.empty());
  filter = {};
  filter.peer = "default";
  filter.olderThan = std::chrono::minutes(1);
  CHECK(reader->deadLetters(filter, 10, 0).messages.empty());
  failed.world.clock->advance(std::chrono::minutes(1));
  CHECK(reader->deadLetters(filter, 10, 0).messages.size() == 3);
  CHECK_THROWS_AS(static_cast<void>(reader->deadLetters({}, 0, 0)), Error);
}

TEST_CASE("P9: the newest dead letters come first where they are asked for, and a page says how many it looked at") {
  Failed failed({{"a", "s"}, {"b", "t"}, {"c", "s"}});
  const auto reader = failed.reader();
  const std::vector<MessageInfo> newest = reader->newestDeadLetters(2);
  REQUIRE(newest.size() == 2);
  CHECK(newest[0].messageId == "c");
  CHECK(newest[0].reason == "rejected");
  CHECK(newest[1].messageId == "b");
  CHECK(reader->newestDeadLetters(10).size() == 3);
  CHECK_THROWS_AS(static_cast<void>(reader->newestDeadLetters(0)), Error);

  DeadLetterFilter filter;
  filter.session = "t";
  CHECK(reader->deadLetters(filter, 10, 0).looked == 3);
  CHECK(reader->deadLetters(filter, 1, 0).looked == 2);
}

}  // namespace dead_letters_test
