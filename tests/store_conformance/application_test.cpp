// Goal: P2, an enqueue in a transaction of the application's commits or rolls back with it, and handles go on correctly
// next to it.
// Method: commits and rollbacks; then a look from a handle's side.

#include <doctest/doctest.h>

#include "store_conformance/world.hpp"

namespace application_test {

using namespace ackbox;
using namespace ackbox::testing;

TEST_CASE("P2: row 17: in the caller's transaction the key commits or rolls back with it") {
  World world;
  const auto store = world.open();
  const auto application = world.application();
  application->begin();
  CHECK(application->enqueue(keyed("k")).isNew());
  CHECK_FALSE(application->enqueue(keyed("k")).isNew());
  application->rollback();
  const EnqueueReceipt first = enqueueOne(*store, keyed("k"));
  CHECK(first.isNew());
  application->begin();
  CHECK(application->enqueue(keyed("k")).messageId == first.messageId);
  CHECK(application->enqueue(keyed("k2")).isNew());
  application->commit();
  CHECK_FALSE(enqueueOne(*store, keyed("k2")).isNew());
  CHECK(world.problems() == "");
}

TEST_CASE("P2: in the caller's transaction the replacement commits or rolls back with it") {
  World world;
  const auto store = world.open();
  const EnqueueReceipt first = enqueueOne(*store, latest("k"));
  const auto application = world.application();
  const auto reader = world.reader();
  application->begin();
  CHECK(application->enqueue(latest("k")).supersededId == first.messageId);
  application->rollback();
  CHECK(reader->find(first.messageId));
  application->begin();
  CHECK(application->enqueue(latest("k")).supersededId == first.messageId);
  application->commit();
  CHECK_FALSE(reader->find(first.messageId));
  CHECK(reader->stats().superseded == 1);
  CHECK(world.problems() == "");
}

TEST_CASE("P2 P4: an application and two handles take turns in one session, and what is rolled back takes no number") {
  World world;
  const auto one = world.open();
  const auto other = world.open();
  const auto application = world.application();
  const auto enqueue = [&] { return application->enqueue(frameOf("s")).sequence; };
  CHECK(enqueueOne(*one, frameOf("s")).sequence == 1);
  application->begin();
  CHECK(enqueue() == 2);
  CHECK(enqueue() == 3);
  application->rollback();
  application->begin();
  CHECK(enqueue() == 2);
  application->commit();
  CHECK(enqueueOne(*other, frameOf("s")).sequence == 3);
  CHECK(enqueueOne(*one, frameOf("s")).sequence == 4);
  CHECK(claimNew(*one).messages.size() == 4);
  CHECK(world.stats().enqueued == 4);
  CHECK(world.problems() == "");
}

}  // namespace application_test
