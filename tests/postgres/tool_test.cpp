// Goal: `ackbox migrate` and `ackbox restore --identity new` say of a database what they do, and what becomes of the
// processes that have it open. Method: the tool as a function, and later versions of the tables.

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "store/postgres/postgres_store.hpp"
#include "store_conformance/messages.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_versions.hpp"
#include "unit/cli/tool_stage.hpp"

namespace pg_tool_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::PostgresStore;
using store::postgres::SchemaInPlace;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Stage {
  Stage() { enqueueOne(*store, frameOf("s", "{}", "one")); }
  [[nodiscard]] std::string url() const {
    return "postgres://postgres@/" + database.name() + "?host=" + PostgresServer::get().folder();
  }

  ToolStage tool;
  PostgresDatabase database;
  std::unique_ptr<PostgresStore> store = std::make_unique<PostgresStore>(database.location(), OutboxOptions{});
};

}  // namespace

TEST_CASE("migrate of a database says what it changes, that no copy is made, and which processes go on") {
  const Stage stage;
  const PostgresVersions versions;
  const store::postgres::Schema two = versions.two();
  const store::postgres::Schema three = versions.three();
  CHECK(has(stage.tool.run({"migrate", stage.url()}).out, "this tool writes the same: nothing to do"));
  {
    const SchemaInPlace later(two);
    const ToolResult refused = stage.tool.run({"stats", stage.url()});
    CHECK(refused.code == 3);
    CHECK(has(refused.err, "ackbox migrate"));
    const ToolResult preview = stage.tool.run({"migrate", stage.url(), "--dry-run"});
    CHECK(preview.code == 0);
    CHECK(has(preview.out, "version 1, made by ackbox 0.1.0; without a copy, which pg_dump makes"));
    CHECK(has(preview.out, std::string("\n  ") + kTenantChange + "\n"));
    CHECK(has(preview.out, "processes that know version 1 of the tables or a later one go on"));
    CHECK(has(preview.out, "nothing was changed"));
    const ToolResult done = stage.tool.run({"migrate", stage.url()});
    CHECK(done.code == 0);
    CHECK(has(done.out, "no copy is made, and now:\n  " + std::string(kTenantChange) + "\n"));
    CHECK(has(done.out, "the tables have version 2 now; processes that know version 1"));
    CHECK(stage.tool.run({"stats", stage.url()}).code == 0);
  }
  // The tool of before, too, may work with them.
  CHECK(stage.tool.run({"stats", stage.url()}).code == 0);
  CHECK(has(stage.tool.run({"migrate", stage.url()}).out, "they are later ones"));
  const SchemaInPlace latest(three);
  const ToolResult json = stage.tool.run({"migrate", stage.url(), "--json"});
  CHECK(json.out == "{\"version\":3,\"written_by\":\"0.1.0\",\"migrated\":true,\"from\":2,\"to\":3,\"changes\":[\"" +
                        std::string(kColourChange) + "\"],\"least\":3}\n");
}

TEST_CASE("restore --identity new makes the outbox of a database a new store, when no process has it open") {
  Stage stage;
  const std::string former = stage.store->origin();
  const ToolResult open = stage.tool.run({"restore", stage.url(), stage.url(), "--identity", "new"});
  CHECK(open.code == 3);
  CHECK(has(open.err, "it is open in process "));
  const ToolResult preview = stage.tool.run({"restore", stage.url(), stage.url(), "--identity", "new", "--dry-run"});
  CHECK(has(preview.out, "would:\n  make it a new store: 1 message pending, 0 dead letters;"));
  stage.store.reset();
  const ToolResult done = stage.tool.run({"restore", stage.url(), stage.url(), "--identity", "new"});
  CHECK(done.code == 0);
  CHECK(has(done.out, "done:\n  make it a new store: 1 message pending, 0 dead letters;"));
  CHECK(has(done.out, "start the agents"));
  CHECK(PostgresStore(stage.database.location(), {}).origin() != former);
}

TEST_CASE("repair mends the figures of a database") {
  const Stage stage;
  stage.database.run("DELETE FROM ackbox.counts");
  CHECK(has(stage.tool.run({"repair", stage.url()}).out, "1 mended"));
  CHECK(stage.tool.run({"verify", stage.url()}).code == 0);
}

}  // namespace pg_tool_test
