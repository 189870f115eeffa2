// Goal: what stands in a row as its log of attempts, and what does not.
// Method: rows as SQL sees and spoils them. What a settle promises, `store_conformance` tries.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "store_conformance/claimed_row.hpp"
#include "store_world.hpp"

namespace settle_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Settlement;
using delivery::Transition;

using Row = ClaimedRowOf<StoreWorld>;

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
    row.failAndClaim(failure("no luck"));
    REQUIRE_FALSE(row.now()->attempts.empty());
    CHECK(row.now()->attempts.front().error == "no luck");
  }
}

}  // namespace settle_test
