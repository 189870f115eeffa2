// Goal: what an operator knows of a message or a frame leads to it: a part of its error, its session or type, its
// idempotency key; and dead letters of one cause are chosen together.
// Method: handles; settlements with the errors.

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "store_conformance/inbound.hpp"
#include "store_conformance/world.hpp"

namespace search_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

/// Claims what is new, and makes each a dead letter with one of the errors.
void failAll(store::Store& store, const std::vector<std::string>& errors) {
  const store::ClaimReply reply = claimNew(store);
  REQUIRE(reply.sessions.size() == errors.size());
  for (std::size_t session = 0; session < errors.size(); ++session) {
    delivery::Settlement settlement = settlementOf(reply, delivery::Transition::fail, session);
    settlement.reason = "rejected";
    settlement.error = errors[session];
    settleOne(store, settlement);
  }
}

template <typename Page>
std::string idsOf(const Page& page) {
  std::string ids;
  for (const MessageInfo& message : page.messages) {
    ids += (ids.empty() ? "" : " ") + message.messageId;
  }
  return ids;
}

std::string frameIdsOf(const InboxPage& page) {
  std::string ids;
  for (const InboxInfo& frame : page.frames) {
    ids += (ids.empty() ? "" : " ") + frame.messageId;
  }
  return ids;
}

}  // namespace

TEST_CASE("P10: dead letters are chosen by an error like theirs, in lists and in changes of all") {
  World world;
  const auto store = world.open();
  for (const char* id : {"a", "b", "c", "d"}) {
    enqueueOne(*store, frameOf("s-" + std::string(id), "{}", id));
  }
  failAll(*store, {"HTTP 422: order 7 is void", "HTTP 422: order 12 is void", "HTTP 404: order 7 is void", ""});
  const auto reader = world.reader();
  const auto likeThis = [&](const char* error) {
    DeadLetterFilter filter;
    filter.errorLike = error;
    return filter;
  };
  CHECK(idsOf(reader->deadLetters(likeThis("HTTP 422: order 99 is void"), 10, 0)) == "a b");
  CHECK(idsOf(reader->deadLetters(likeThis("HTTP 404: order 1 is void"), 10, 0)) == "c");
  CHECK(idsOf(reader->deadLetters(likeThis(""), 10, 0)) == "d");
  CHECK(idsOf(reader->deadLetters(likeThis("HTTP 422: order"), 10, 0)).empty());
  CHECK(reader->storedDeadLetters(likeThis("HTTP 422: order 99 is void"), 10, 0).messages.size() == 2);

  store::DeadLetterSlice slice;
  slice.filter = likeThis("HTTP 422: order 99 is void");
  const store::SliceReport report =
      inTransaction(*store, [&] { return store->deadLetters().change(slice, delivery::Transition::discard, 100); });
  CHECK(report.changed == 2);
  CHECK(idsOf(reader->deadLetters({}, 10, 0)) == "c d");
  CHECK(world.problems() == "");
}

TEST_CASE("P10: messages and frames are found by their session or type, and by a part of their error") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("orders", "{}", "a"));
  enqueueOne(*store, frameOf("returns", "{}", "b"));
  failAll(*store, {"no stock", "no route"});
  const auto reader = world.reader();
  const auto found = [&](const char* text, bool isNewestFirst = false) {
    return idsOf(reader->messages({.text = text, .isNewestFirst = isNewestFirst}, 10, 0));
  };
  CHECK(found("orders") == "a");
  CHECK(found("order").empty());
  CHECK(found("route") == "b");
  CHECK(found("no ") == "a b");
  CHECK(found("no ", true) == "b a");
  CHECK(found("No ").empty());
  CHECK(idsOf(reader->messages({.state = MessageState::failed, .text = "stock"}, 10, 0)) == "a");

  const store::InboxKey first = acceptFrame(*store, inboundFrame(1));
  acceptFrame(*store, inboundFrame(1, "q"));
  REQUIRE(claimRow(*store, first).kind == store::InboxClaim::Kind::taken);
  retryRow(*store, first, world.clock->wallNow(), "out of paper");
  const auto frames = [&](const char* text) { return frameIdsOf(reader->inbox({.text = text}, 10, 0)); };
  CHECK(frames("s-1") == "s-1");
  CHECK(frames("q") == "q-1");
  CHECK(frames("test") == "s-1 q-1");
  CHECK(frames("paper") == "s-1");
  CHECK(frames("peer") == "s-1 q-1");
  CHECK(frames("pape r").empty());
}

TEST_CASE("P9: a list of frames by state has those that are shown in this state, in an order and in none") {
  World world;
  const auto store = world.open();
  acceptFrame(*store, inboundFrame(1));
  acceptFrame(*store, inboundFrame(2));
  const store::InboxKey running = acceptFrame(*store, inboundFrame(1, "r"));
  const store::InboxKey late = acceptFrame(*store, inboundFrame(1, "l"));
  acceptFrame(*store, inboundFrame(0, ""));
  REQUIRE(claimRow(*store, running).kind == store::InboxClaim::Kind::taken);
  REQUIRE(claimRow(*store, late).kind == store::InboxClaim::Kind::taken);
  retryRow(*store, late, world.clock->wallNow() + std::chrono::minutes(1), "later");
  const auto reader = world.reader();
  const auto in = [&](InboxState state) { return frameIdsOf(reader->inbox({.state = state}, 10, 0)); };
  CHECK(in(InboxState::waiting) == "s-1 -0");
  CHECK(in(InboxState::behind) == "s-2");
  CHECK(in(InboxState::running) == "r-1");
  CHECK(in(InboxState::backoff) == "l-1");
  CHECK(in(InboxState::unattended).empty());
  CHECK(in(InboxState::ended).empty());
  CHECK(frameIdsOf(reader->inbox({.state = InboxState::waiting, .text = "s"}, 10, 0)) == "s-1");
}

TEST_CASE("P9: a frame whose row is known is found by it, and no other frame is") {
  World world;
  const auto store = world.open();
  acceptFrame(*store, inboundFrame(1));
  acceptFrame(*store, inboundFrame(2));
  const auto reader = world.reader();
  const std::int64_t row = reader->findInbox("urn:peer", "s-2")->row;
  CHECK(reader->findInbox("urn:peer", "s-2", row)->sequence == 2);
  CHECK(reader->inboxFrame("urn:peer", "s-2", row)->sequence == 2);
  CHECK(reader->explainInbox("urn:peer", "s-2", row)->reasons.front().blockReason == BlockReason::behind);
  CHECK_FALSE(reader->findInbox("urn:peer", "s-1", row));
  CHECK_FALSE(reader->inboxFrame("urn:peer", "s-1", row));
  CHECK_FALSE(reader->inboxFrame("urn:other", "s-2", row));
  CHECK_FALSE(reader->findInbox("urn:peer", "s-2", row + 1));
}

TEST_CASE("P5: an idempotency key leads to the message that was enqueued with it, and to all of a publish") {
  World world;
  setPeers(world.options, {"alice", "bob"});
  const auto store = world.open();
  Frame frame = frameOf("s");
  frame.peer = "bob";
  frame.idempotencyKey = "one";
  const EnqueueReceipt receipt = enqueueOne(*store, frame);
  const auto reader = world.reader();
  CHECK(reader->idsOfKey("one", 10) == std::vector<std::string>{receipt.messageId});
  CHECK(reader->idsOfKey("none", 10).empty());

  inTransaction(*store, [&] {
    CHECK(store->subscriptions().put({.name = "a", .peer = "alice"}) == true);
    CHECK(store->subscriptions().put({.name = "b", .peer = "bob"}) == true);
  });
  frame.peer = "*";
  frame.idempotencyKey = "all";
  const PublishReceipt published = inTransaction(*store, [&] { return store->outbox().publish(frame); });
  REQUIRE(published.messages.size() == 2);
  CHECK(reader->idsOfKey("all", 10) ==
        std::vector<std::string>{published.messages[0].messageId, published.messages[1].messageId});
  CHECK(reader->idsOfKey("all", 1) == std::vector<std::string>{published.messages[0].messageId});
}

}  // namespace search_test
