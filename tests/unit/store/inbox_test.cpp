// Goal: rows of the inbox that other SQL has spoilt are found. What the inbox promises, `store_conformance` tries.
// Method: a statement for each invariant.

#include "store/sqlite/inbound/inbox.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "store/sqlite/read/verify.hpp"
#include "store_conformance/inbound.hpp"
#include "store_world.hpp"

namespace inbox_test {

using namespace ackbox;
using namespace ackbox::testing;

TEST_CASE("P10: each broken invariant of the inbox is found") {
  struct Break {
    const char* sql;
    const char* table;
  };
  const Break breaks[] = {
      {"UPDATE ackbox_counters SET inbox=9", "ackbox_counters"},
      {"UPDATE ackbox_inbox SET owner_id=99 WHERE id=1", "ackbox_inbox"},
      {"UPDATE ackbox_inbound_sessions SET accepted_sequence=1", "ackbox_inbox"},
      {"UPDATE ackbox_inbox SET sequence=5 WHERE id=1", "ackbox_inbox"},
      {"UPDATE ackbox_inbox SET last_error='x' WHERE id=1", "ackbox_inbox"},
      {"INSERT INTO ackbox_inbox_results(frame_id,source,origin,session,sequence,outcome,keep_until_ms) "
       "VALUES('s-1','urn:peer','origin','s',1,0,0)",
       "ackbox_inbox"},
  };
  for (const Break& one : breaks) {
    CAPTURE(one.sql);
    StoreWorld world;
    const auto store = world.open();
    acceptFrame(*store, inboundFrame(1));
    acceptFrame(*store, inboundFrame(2));
    REQUIRE(store::sqlite::verify(world.file, world.options).clean());
    SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec(one.sql);
    const VerifyReport report = store::sqlite::verify(world.file, world.options);
    REQUIRE_FALSE(report.clean());
    CHECK(report.findings.front().table == one.table);
  }
}

}  // namespace inbox_test
