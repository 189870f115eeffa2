// Goal: what stands in a row as its log of attempts, and what does not.
// Method: rows as SQL sees and spoils them. What a settle promises, `store_conformance` tries.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "store/sqlite/read/reader.hpp"
#include "store_world.hpp"

namespace settle_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Settlement;
using delivery::Transition;

namespace {

struct Row {
  explicit Row(StoreWorld& world) : store(world.open()), reader(world.file, world.options) {
    id = enqueueOne(*store, frameOf("s", "{}")).messageId;
    reply = claimNew(*store);
    settlement = settlementOf(reply, Transition::release);
  }

  bool apply(Transition transition) {
    settlement.transition = transition;
    return settleOne(*store, settlement).has_value();
  }
  std::optional<MessageInfo> now() const { return reader.find(id); }

  std::unique_ptr<store::sqlite::SqliteStore> store;
  store::sqlite::SqliteReader reader;
  std::string id;
  store::ClaimReply reply;
  Settlement settlement;
};

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

}  // namespace settle_test
