// Goal: a look at new rows that SQLite breaks off loses none of them.
// Method: a look that is broken off after each number of SQLite's instructions.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "ackbox/error.hpp"
#include "store_world.hpp"

namespace discovery_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

std::vector<delivery::MessageKey> keysOf(const store::NewRows& rows) {
  std::vector<delivery::MessageKey> keys;
  for (const delivery::RowSeen& row : rows.rows) {
    keys.push_back(row.key);
  }
  return keys;
}

using Keys = std::vector<delivery::MessageKey>;

}  // namespace

TEST_CASE("P4: a look that breaks off, wherever, takes nothing: the next one tells every row with its session") {
  StoreWorld world;
  enqueueOne(*world.open(), frameOf("s"));
  enqueueOne(*world.open(), frameOf("t"));
  bool hasBrokenOff = true;
  for (int steps = 1; hasBrokenOff; ++steps) {
    CAPTURE(steps);
    const auto store = world.open();
    sqlite3* const connection = store->database().getHandle();
    sqlite3_progress_handler(
        connection, steps, [](void*) { return 1; }, nullptr);
    store::NewRows found;
    try {
      found = store->discovery().take(10);
      hasBrokenOff = false;
    } catch (const Error&) {
      hasBrokenOff = true;
    }
    sqlite3_progress_handler(connection, 0, nullptr, nullptr);
    if (hasBrokenOff) {
      found = store->discovery().take(10);
    }
    CHECK(keysOf(found) == Keys{1, 2});
    REQUIRE(found.sessions.size() == 2);
    CHECK(found.sessions[0].name == "s");
    CHECK(found.sessions[1].name == "t");
  }
}

}  // namespace discovery_test
