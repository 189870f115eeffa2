// Goal: a message is found by its id, and no id is another's, though only few ids are in an index. Method: an id at
// each place where it may stand, and the moves between them.

#include "store/sqlite/outbound/message_ids.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "store/sqlite/outbound/dead_letters.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"

namespace ackbox::testing::message_ids_test {
namespace {

std::int64_t namedRows(const StoreWorld& world) {
  SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
  return database.execAndGet("SELECT count(*) FROM ackbox_outbox WHERE message_id IS NOT NULL").getInt64();
}

/// The id of the row with `key`, made by SQL.
std::string idBySql(const StoreWorld& world, std::int64_t key) {
  SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
  return database
      .execAndGet("SELECT " + std::string(store::sqlite::kMessageId) +
                  " FROM ackbox_outbox AS o WHERE id=" + std::to_string(key))
      .getString();
}

std::uint64_t sequenceOf(const StoreWorld& world, const std::string& id) {
  const auto found = store::sqlite::SqliteReader(world.file, world.options).find(id);
  return found ? found->sequence : 0;
}

bool isSound(const StoreWorld& world) {
  return store::sqlite::verify(world.file, world.options).findings.empty();
}

void change(store::sqlite::SqliteStore& store, const std::string& id, delivery::Transition transition) {
  CHECK(inTransaction(store, [&] { return !store.deadLetters().change(id, transition, "why").receipt.refusal; }));
}

}  // namespace

TEST_CASE("an id of our own says its row's key, and is in no index") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s", "{}", "first"));
  const EnqueueReceipt receipt = enqueueOne(*store, frameOf("s"));
  CHECK(receipt.messageId.substr(26) == "0000000002");
  CHECK(namedRows(world) == 1);
  CHECK(sequenceOf(world, receipt.messageId) == 2);
  CHECK(sequenceOf(world, "first") == 1);
  CHECK(sequenceOf(world, "0000000002") == 0);
  CHECK(isSound(world));
}

TEST_CASE("an id that is there is repeated, wherever it stands") {
  const StoreWorld world;
  const auto store = world.open();
  std::string id;
  SUBCASE("our own") {
    id = enqueueOne(*store, frameOf("s")).messageId;
  }
  SUBCASE("our own, redriven to another row") {
    id = enqueueOne(*store, frameOf("s")).messageId;
    change(*store, id, delivery::Transition::fail);
    change(*store, id, delivery::Transition::redrive);
    CHECK(namedRows(world) == 1);
  }
  SUBCASE("our own, redriven twice") {
    id = enqueueOne(*store, frameOf("s")).messageId;
    for (int round = 0; round < 2; ++round) {
      change(*store, id, delivery::Transition::fail);
      change(*store, id, delivery::Transition::redrive);
    }
  }
  SUBCASE("the caller's") {
    id = enqueueOne(*store, frameOf("s", "{}", "mine")).messageId;
  }
  SUBCASE("the caller's, which ends in its row's key") {
    id = enqueueOne(*store, frameOf("s", "{}", "x-0000000001")).messageId;
  }
  SUBCASE("the caller's, which ends in the key of a row that comes later") {
    id = enqueueOne(*store, frameOf("s", "{}", "x-0000000002")).messageId;
  }
  SUBCASE("the caller's, a number alone") {
    id = enqueueOne(*store, frameOf("s", "{}", "2")).messageId;
  }
  const std::uint64_t sequence = sequenceOf(world, id);
  CHECK(sequence != 0);
  // Moves the next key on to the one that some ids end in.
  for (int round = 0; round < 3; ++round) {
    const EnqueueReceipt again = enqueueOne(*store, frameOf("s", "{}", id));
    CHECK(again.status == EnqueueStatus::duplicate);
    CHECK(again.sequence == sequence);
    CHECK(enqueueOne(*store, frameOf("s")).isNew());
  }
  CHECK(sequenceOf(world, id) == sequence);
  CHECK(store::sqlite::SqliteReader(world.file, world.options).stats().pending == 4);
  CHECK(isSound(world));
  CHECK(inTransaction(*store, [&] { return store->settles().ackById(id).has_value(); }));
  CHECK(enqueueOne(*store, frameOf("s", "{}", id)).isNew());
  CHECK(isSound(world));
}

TEST_CASE("beyond ten digits a key is not told, and the id is in the index") {
  const StoreWorld world;
  { const auto store = world.open(); }
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE ackbox_counters SET last_key=9999999998, tails_key=9999999998");
  const auto store = world.open();
  const EnqueueReceipt last = enqueueOne(*store, frameOf("s"));
  CHECK(last.messageId.substr(26) == "9999999999");
  CHECK(namedRows(world) == 0);
  const EnqueueReceipt beyond = enqueueOne(*store, frameOf("s"));
  CHECK(namedRows(world) == 1);
  CHECK(sequenceOf(world, last.messageId) == 1);
  CHECK(sequenceOf(world, beyond.messageId) == 2);
  CHECK(isSound(world));
}

TEST_CASE("a row says its own id, in SQL and to its claim, whatever the clock does") {
  using namespace std::chrono_literals;
  constexpr std::int64_t kRows = 100;
  const StoreWorld world;
  std::chrono::milliseconds move = 0ms;
  std::int64_t named = 0;
  SUBCASE("it runs") {
    move = 1ms;
  }
  SUBCASE("it stands still") {}
  SUBCASE("it is set back") {
    move = -1min;
  }
  SUBCASE("it is beyond what an id can say") {
    world.clock->step(std::chrono::milliseconds(std::int64_t{1} << 48U));
    named = kRows;
  }
  SUBCASE("it is set back further than a row can say") {
    move = -24h * 4;
    named = kRows - 2;
  }
  std::vector<std::string> ids;
  {
    const auto store = world.open();
    for (std::int64_t key = 1; key <= kRows; ++key) {
      ids.push_back(enqueueOne(*store, frameOf("s" + std::to_string(key))).messageId);
      world.clock->step(move);
    }
  }
  CHECK(namedRows(world) == named);
  const auto store = world.open();
  std::vector<std::string> claimed;
  for (const store::ClaimedMessage& message : claimNew(*store).messages) {
    claimed.push_back(message.frame.messageId);
  }
  CHECK(claimed == ids);
  for (std::size_t index = 0; index < ids.size(); ++index) {
    CHECK(idBySql(world, static_cast<std::int64_t>(index) + 1) == ids[index]);
    CHECK(sequenceOf(world, ids[index]) == 1);
  }
  CHECK(isSound(world));
}

TEST_CASE("verify finds an id that two messages have, and a row that has none, two or a wrong one") {
  const StoreWorld world;
  const auto store = world.open();
  const std::string id = enqueueOne(*store, frameOf("s")).messageId;
  enqueueOne(*store, frameOf("s", "{}", "other"));
  CHECK(isSound(world));
  SQLite::Database database(world.file.string(), SQLite::OPEN_READWRITE);
  std::string_view problem = "it has no message id, two, or one that cannot say its row";
  SUBCASE("two have it") {
    problem = "its message id is another one's as well";
    database.exec("UPDATE ackbox_outbox SET message_id='" + id + "' WHERE id=2");
  }
  SUBCASE("none") {
    database.exec("UPDATE ackbox_outbox SET id_rest=NULL WHERE id=1");
  }
  SUBCASE("an empty one") {
    database.exec("UPDATE ackbox_outbox SET message_id='' WHERE id=2");
  }
  SUBCASE("two of its own") {
    database.exec("UPDATE ackbox_outbox SET id_rest=7 WHERE id=2");
  }
  SUBCASE("one that cannot say its key") {
    database.exec("UPDATE ackbox_outbox SET id=9999999999+id_rest/id_rest WHERE id=1");
  }
  const auto findings = store::sqlite::verify(world.file, world.options).findings;
  CHECK(std::ranges::count(findings, problem, &Finding::problem) == 1);
}

}  // namespace ackbox::testing::message_ids_test
