// Goal: rows of unordered messages that are not what they should be are found.
// Method: a statement for each way in which they may be wrong.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "ackbox/diagnosis.hpp"
#include "store/sqlite/read/verify.hpp"
#include "unit/store/store_world.hpp"

namespace ackbox::unordered_rows_test {
namespace {

using testing::enqueueOne;
using testing::frameOf;
using testing::StoreWorld;

TEST_CASE("verify names a lane or an unordered row that is not what it should be") {
  StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf(""));
  SQLite::Database& file = store->database();
  file.exec("UPDATE ackbox_outbox SET sequence=1");
  CHECK(store::sqlite::verify(world.file, world.options).findings.size() >= 1);
  file.exec("UPDATE ackbox_outbox SET sequence=0, supersede_key='k'");
  CHECK(store::sqlite::verify(world.file, world.options).findings.size() >= 1);
  file.exec("UPDATE ackbox_outbox SET supersede_key=NULL, due_at_ms=5");
  CHECK(store::sqlite::verify(world.file, world.options).findings.size() >= 1);
  file.exec("UPDATE ackbox_outbox SET due_at_ms=0");
  file.exec("UPDATE ackbox_session_states SET due_at_ms=5");
  CHECK(store::sqlite::verify(world.file, world.options).findings.size() >= 1);
  file.exec("UPDATE ackbox_session_states SET due_at_ms=0");
  file.exec("INSERT INTO ackbox_idempotency_keys VALUES('k',1,'',1,0,0)");
  CHECK(store::sqlite::verify(world.file, world.options).findings.size() >= 1);
}

}  // namespace
}  // namespace ackbox::unordered_rows_test
