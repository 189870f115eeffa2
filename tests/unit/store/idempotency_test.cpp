// Goal: idempotency keys that are over leave the file, a few at a time.
// Method: rows of keys, counted; time that moves when told.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "unit/store/store_world.hpp"

namespace ackbox::idempotency_test {
namespace {

using namespace std::chrono_literals;
using testing::claimNew;
using testing::enqueueOne;
using testing::frameOf;
using testing::settlementOf;
using testing::settleOne;
using testing::StoreWorld;

Frame keyed(const std::string& key) {
  Frame frame = frameOf("s");
  frame.idempotencyKey = key;
  return frame;
}

void ackAll(store::Store& store) {
  const store::ClaimReply reply = claimNew(store);
  for (std::size_t session = 0; session < reply.sessions.size(); ++session) {
    for (std::size_t row = 0; row < reply.sessions[session].rows.size(); ++row) {
      settleOne(store, settlementOf(reply, delivery::Transition::ack, session, row));
    }
  }
}

TEST_CASE("row 17: keys that are over are purged in small slices by those that come") {
  StoreWorld world;
  world.options.idempotencyRetention = 10min;
  const auto store = world.open();
  for (int count = 0; count < 100; ++count) {
    enqueueOne(*store, keyed("a" + std::to_string(count)));
  }
  ackAll(*store);
  world.clock->advance(10min);
  for (int count = 0; count < 100; ++count) {
    enqueueOne(*store, keyed("b" + std::to_string(count)));
  }
  const SQLite::Database file(world.file.string());
  CHECK(SQLite::Statement(file, "SELECT 1").tryExecuteStep() == SQLITE_ROW);
  SQLite::Statement count(file, "SELECT count(*) FROM ackbox_idempotency_keys");
  REQUIRE(count.executeStep());
  CHECK(count.getColumn(0).getInt() == 100);
}

}  // namespace
}  // namespace ackbox::idempotency_test
