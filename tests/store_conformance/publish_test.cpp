// Goal: what is published becomes one message for each subscriber as of its transaction, or none, whichever process has
// subscribed them, and a repetition names the same messages.
// Method: handles and an application on one place; subscriptions that change between publishes.

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "store_conformance/world.hpp"

namespace publish_test {

using namespace ackbox;
using namespace ackbox::testing;
using namespace std::chrono_literals;

struct Published : World {
  Published() { setPeers(options, {"alice", "bob", "carol"}); }

  static bool subscribe(store::Store& store, const std::string& peer, const std::string& type = "*",
                        const std::string& session = {}, const std::string& name = {}) {
    return inTransaction(store, [&] {
      return store.subscriptions().put(
                 {.name = name.empty() ? peer : name, .peer = peer, .type = type, .session = session}) == true;
    });
  }
  static bool unsubscribe(store::Store& store, const std::string& name) {
    return inTransaction(store, [&] { return store.subscriptions().remove(name); });
  }
  static PublishReceipt publish(store::Store& store, const Frame& frame = frameOf("s")) {
    return inTransaction(store, [&] { return store.outbox().publish(frame); });
  }
  /// Each subscriber with its number, or the status if nothing was stored.
  static std::string told(const PublishReceipt& receipt) {
    std::string text = receipt.isNew() ? "" : std::string(toString(receipt.status));
    for (const PublishedMessage& message : receipt.messages) {
      text += (text.empty() ? "" : " ") + message.peer + std::to_string(message.sequence);
    }
    return text;
  }
};

TEST_CASE("P2: a publish is a message for each subscriber, with numbers of its own, and the receipt names them") {
  Published world;
  const auto store = world.open();
  CHECK(Published::subscribe(*store, "bob"));
  CHECK(Published::told(Published::publish(*store)) == "bob1");
  CHECK(Published::subscribe(*store, "alice"));
  const PublishReceipt receipt = Published::publish(*store);
  CHECK(Published::told(receipt) == "alice1 bob2");
  for (const PublishedMessage& message : receipt.messages) {
    const std::optional<Frame> frame = world.reader()->frame(message.messageId);
    REQUIRE(frame);
    CHECK(frame->peer == message.peer);
    CHECK(frame->data == "{}");
  }
  CHECK(store->discovery().take(100).rows.size() == 3);
  CHECK(world.stats().pending == 3);
  CHECK(world.stats().enqueued == 3);
  CHECK(world.problems() == "");
}

TEST_CASE("P12: a transaction tells how many messages it has stored, without those that were undone") {
  Published world;
  const auto store = world.open();
  Published::subscribe(*store, "alice");
  Published::subscribe(*store, "bob");
  inTransaction(*store, [&] {
    CHECK(store->outbox().stored() == 0);
    store->outbox().publish(frameOf("s"));
    store->savepoint();
    store->outbox().publish(frameOf("s"));
    CHECK(store->outbox().stored() == 4);
    store->rollbackToSavepoint();
    CHECK(store->outbox().stored() == 2);
    return true;
  });
  CHECK(store->outbox().stored() == 0);
}

TEST_CASE("P2: what is published outside sessions has no number, and goes to those who want any session") {
  Published world;
  const auto store = world.open();
  Published::subscribe(*store, "alice");
  Published::subscribe(*store, "bob", "*", "s*");
  CHECK(Published::told(Published::publish(*store, frameOf(""))) == "alice0");
  CHECK(Published::told(Published::publish(*store, frameOf("s1"))) == "alice1 bob1");
  CHECK(world.problems() == "");
}

TEST_CASE("P5: a subscription is for types and sessions or their beginnings, and two of a peer give one message") {
  Published world;
  const auto store = world.open();
  Published::subscribe(*store, "alice", "order.*", "", "all orders");
  Published::subscribe(*store, "alice", "order.placed", "", "placed");
  Published::subscribe(*store, "bob", "order.placed", "north*");
  Published::subscribe(*store, "carol", "*", "south");
  const auto told = [&](const std::string& type, const std::string& session) {
    Frame frame = frameOf(session);
    frame.type = type;
    return Published::told(Published::publish(*store, frame));
  };
  CHECK(told("order.placed", "north1") == "alice1 bob1");
  CHECK(told("order.placed", "south") == "alice1 carol1");
  CHECK(told("order.paid", "north1") == "alice2");
  CHECK(told("invoice", "north1") == "noSubscriber");
  CHECK(told("order", "north1") == "noSubscriber");
  CHECK(world.problems() == "");
}

TEST_CASE("P3: what is published to nobody is told, and its key stays used") {
  Published world;
  const auto store = world.open();
  const PublishReceipt receipt = Published::publish(*store, keyed("k"));
  CHECK(receipt.status == PublishStatus::noSubscriber);
  CHECK_FALSE(receipt.accepted());
  CHECK(receipt.detail.find("nothing was stored") != std::string::npos);
  Published::subscribe(*store, "alice");
  const PublishReceipt again = Published::publish(*store, keyed("k"));
  CHECK(Published::told(again) == "duplicate");
  CHECK(again.detail.find("nothing was stored") != std::string::npos);
  CHECK(world.stats().pending == 0);
  CHECK(world.problems() == "");
}

TEST_CASE("P5: a key names the same messages after subscriptions changed, in every process and after a restart") {
  Published world;
  auto store = world.open();
  Published::subscribe(*store, "alice");
  Published::subscribe(*store, "bob");
  const PublishReceipt first = Published::publish(*store, keyed("k"));
  CHECK(Published::told(first) == "alice1 bob1");
  Published::unsubscribe(*store, "alice");
  Published::subscribe(*store, "carol");
  const auto ids = [](const PublishReceipt& receipt) {
    std::vector<std::string> all;
    for (const PublishedMessage& message : receipt.messages) {
      all.push_back(message.messageId);
    }
    return all;
  };
  const auto isRepeated = [&](const PublishReceipt& receipt) {
    return Published::told(receipt) == "duplicate alice1 bob1" && ids(receipt) == ids(first);
  };
  CHECK(isRepeated(Published::publish(*store, keyed("k"))));
  CHECK_FALSE(Published::publish(*store, keyed("k")).isConflict);
  Frame other = keyed("k");
  other.type = "other";
  CHECK(isRepeated(Published::publish(*store, other)));
  CHECK(Published::publish(*store, other).isConflict);
  CHECK(isRepeated(Published::publish(*world.open(), keyed("k"))));
  const auto application = world.application();
  application->begin();
  CHECK(isRepeated(application->publish(keyed("k"))));
  application->commit();
  store.reset();
  store = world.open();
  CHECK(isRepeated(Published::publish(*store, keyed("k"))));
  CHECK(Published::told(Published::publish(*store, keyed("k2"))) == "bob2 carol1");
  CHECK(world.stats().pending == 4);
  CHECK(world.problems() == "");
}

TEST_CASE("P11: a key of an enqueue to a peer is that peer's: neither other peers nor a publish find it used") {
  Published world;
  const auto store = world.open();
  Published::subscribe(*store, "alice");
  Frame frame = keyed("k");
  frame.peer = "bob";
  const EnqueueReceipt toBob = enqueueOne(*store, frame);
  frame.peer = "alice";
  CHECK(enqueueOne(*store, frame).isNew());
  CHECK(Published::told(Published::publish(*store, keyed("k"))) == "alice2");
  CHECK(world.stats().pending == 3);
  // Each is still used where it was.
  frame.peer = "bob";
  CHECK(enqueueOne(*store, frame).messageId == toBob.messageId);
  CHECK(Published::told(Published::publish(*store, keyed("k"))) == "duplicate alice2");
  CHECK(world.stats().pending == 3);
  CHECK(world.problems() == "");
}

TEST_CASE("P5: a key is kept while one of its messages is, and then names none of them") {
  Published world;
  world.options.idempotencyRetention = 10min;
  const auto store = world.open();
  Published::subscribe(*store, "alice");
  Published::subscribe(*store, "bob");
  const PublishReceipt first = Published::publish(*store, keyed("k"));
  const auto end = [&](std::size_t index) {
    inTransaction(*store, [&] { CHECK(store->settles().ackById(first.messages[index].messageId)); });
  };
  end(0);
  world.clock->advance(10min);
  CHECK(Published::told(Published::publish(*store, keyed("k"))) == "duplicate alice1 bob1");
  end(1);
  Published::unsubscribe(*store, "bob");
  CHECK(Published::told(Published::publish(*store, keyed("k"))) == "alice2");
  CHECK(Published::told(Published::publish(*store, keyed("k"))) == "duplicate alice2");
  CHECK(world.problems() == "");
  // An expired key goes with its messages when others are used.
  inTransaction(*store, [&] {
    for (const MessageInfo& message : world.reader()->messages({}, 10, 0).messages) {
      static_cast<void>(store->settles().ackById(message.messageId));
    }
  });
  world.clock->advance(10min);
  CHECK(Published::told(Published::publish(*store, keyed("k2"))) == "alice3");
  CHECK(world.problems() == "");
}

TEST_CASE("P2: what another handle or an application publishes follows each change of the subscriptions at once") {
  Published world;
  const auto one = world.open();
  const auto two = world.open();
  const auto application = world.application();
  const auto byApplication = [&] {
    application->begin();
    const PublishReceipt receipt = application->publish(frameOf("s"));
    application->commit();
    return Published::told(receipt);
  };
  CHECK(Published::told(Published::publish(*two)) == "noSubscriber");
  Published::subscribe(*one, "alice");
  CHECK(Published::told(Published::publish(*two)) == "alice1");
  CHECK(byApplication() == "alice2");
  Published::subscribe(*two, "bob");
  CHECK(Published::told(Published::publish(*one)) == "alice3 bob1");
  CHECK(Published::told(Published::publish(*two)) == "alice4 bob2");
  Published::unsubscribe(*one, "alice");
  CHECK(Published::told(Published::publish(*one)) == "bob3");
  CHECK(Published::told(Published::publish(*two)) == "bob4");
  CHECK(byApplication() == "bob5");
  CHECK(world.problems() == "");
}

TEST_CASE("P1: a subscription of a transaction that is rolled back gets nothing, and one that it ended goes on") {
  Published world;
  const auto store = world.open();
  Published::subscribe(*store, "alice");
  store->begin(true);
  CHECK(store->subscriptions().put({.name = "bob", .peer = "bob"}) == true);
  CHECK(store->subscriptions().remove("alice"));
  CHECK(Published::told(store->outbox().publish(frameOf("s"))) == "bob1");
  store->rollback();
  CHECK(Published::told(Published::publish(*store)) == "alice1");
  store->begin(true);
  store->savepoint();
  CHECK(Published::told(store->outbox().publish(frameOf("s"))) == "alice2");
  store->rollbackToSavepoint();
  CHECK(Published::told(store->outbox().publish(frameOf("s"))) == "alice2");
  store->commit();
  CHECK(world.problems() == "");
}

TEST_CASE("P2: an application's publish commits or rolls back with its transaction") {
  Published world;
  const auto store = world.open();
  Published::subscribe(*store, "alice");
  Published::subscribe(*store, "bob");
  const auto application = world.application();
  application->begin();
  CHECK(Published::told(application->publish(keyed("k"))) == "alice1 bob1");
  application->rollback();
  CHECK(world.stats().pending == 0);
  application->begin();
  CHECK(Published::told(application->publish(keyed("k"))) == "alice1 bob1");
  CHECK(Published::told(application->publish(frameOf("s"))) == "alice2 bob2");
  application->commit();
  CHECK(world.stats().pending == 4);
  CHECK(Published::told(Published::publish(*store, keyed("k"))) == "duplicate alice1 bob1");
  CHECK(Published::told(Published::publish(*store)) == "alice3 bob3");
  CHECK(world.problems() == "");
}

TEST_CASE("P11: a publish that does not fit is refused as a whole, and one that replaces makes its own room") {
  Published world;
  world.options.maxPending = 4;
  const auto store = world.open();
  const auto application = world.application();
  for (const char* const peer : {"alice", "bob", "carol"}) {
    Published::subscribe(*store, peer);
  }
  CHECK(Published::told(Published::publish(*store, latest("k"))) == "alice1 bob1 carol1");
  const PublishReceipt refused = Published::publish(*store, keyed("once"));
  CHECK(Published::told(refused) == "queueFull");
  CHECK(refused.detail.find("each of 3 subscribers") != std::string::npos);
  application->begin();
  CHECK(Published::told(application->publish(frameOf("s"))) == "queueFull");
  application->commit();
  CHECK(world.stats().pending == 3);
  CHECK(Published::told(Published::publish(*store, latest("k"))) == "alice2 bob2 carol2");
  CHECK(world.stats().pending == 3);
  CHECK(world.stats().superseded == 3);
  Published::unsubscribe(*store, "alice");
  Published::unsubscribe(*store, "bob");
  CHECK(Published::told(Published::publish(*store, keyed("once"))) == "carol3");
  CHECK(world.problems() == "");
}

TEST_CASE("P11: the data of all subscribers counts to the limit of bytes") {
  Published world;
  world.options.maxPendingBytes = 100;
  const auto store = world.open();
  Published::subscribe(*store, "alice");
  Published::subscribe(*store, "bob");
  CHECK(Published::told(Published::publish(*store, frameOf("s", '"' + std::string(49, 'x') + '"'))) == "queueFull");
  CHECK(Published::told(Published::publish(*store, frameOf("s", '"' + std::string(48, 'x') + '"'))) == "alice1 bob1");
  Frame named = frameOf("s");
  named.id = "my-id";
  CHECK(Published::told(Published::publish(*store, named)) == "invalidFrame");
}

TEST_CASE("P11: the outbox has 1,000 subscriptions at most, of peers that it knows") {
  Published world;
  const auto store = world.open();
  store->begin(true);
  for (int index = 0; index < 1'000; ++index) {
    CHECK(store->subscriptions().put({.name = std::to_string(index), .peer = "bob"}) == true);
  }
  CHECK_FALSE(store->subscriptions().put({.name = "one more", .peer = "bob"}));
  CHECK(store->subscriptions().put({.name = "7", .peer = "alice"}) == false);
  CHECK_THROWS_AS(store->subscriptions().put({.name = "8", .peer = "nobody"}), Error);
  CHECK_FALSE(store->subscriptions().remove("nothing"));
  store->commit();
  CHECK(world.reader()->subscriptions().size() == 1'000);
  CHECK(Published::told(Published::publish(*store)) == "alice1 bob1");
}

TEST_CASE("P8: a peer's subscriptions go with it, and do not come back with it") {
  Published world;
  world.options.adoptPeers = true;
  const auto store = world.open();
  inTransaction(*store, [&] { store->addPeer({.name = "dave"}, "a definition"); });
  const auto other = world.open();
  Published::subscribe(*store, "alice");
  Published::subscribe(*store, "dave");
  CHECK(Published::told(Published::publish(*other)) == "alice1 dave1");
  const auto remove = [&](WaitingMessages waiting) {
    return inTransaction(*store, [&] { return store->removePeer("dave", waiting); });
  };
  CHECK(remove(WaitingMessages::refuse).subscriptions == 0);
  CHECK(Published::told(Published::publish(*store)) == "alice2 dave2");
  CHECK(remove(WaitingMessages::fail).subscriptions == 1);
  CHECK(Published::told(Published::publish(*store)) == "alice3");
  CHECK(Published::told(Published::publish(*other)) == "alice4");
  CHECK(world.reader()->subscriptions().size() == 1);
  store->begin(true);
  CHECK_THROWS_AS(store->subscriptions().put({.name = "dave", .peer = "dave"}), Error);
  store->rollback();
  inTransaction(*store, [&] { store->addPeer({.name = "dave"}, "a definition"); });
  CHECK(Published::told(Published::publish(*other)) == "alice5");
  CHECK(world.problems() == "");
}

TEST_CASE("P2: a subscriber that is no peer of the publishing process gets its message from a process that has it") {
  Published world;
  const auto store = world.open();
  Published::subscribe(*store, "carol");
  setPeers(world.options, {"alice"});
  const auto stranger = world.open();
  CHECK(Published::told(Published::publish(*stranger)) == "carol1");
  CHECK(store->discovery().take(100).rows.size() == 1);
  CHECK(world.problems() == "");
}

}  // namespace publish_test
