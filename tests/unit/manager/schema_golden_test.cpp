// Goal: every later program opens a file of schema version 1, whatever rows it has, and keeps its promises to them.
// Method: golden/schema_1.sql is a dump of such a file, of a process that was killed. ACKBOX_REGENERATE=1 writes it
// anew, which is right only before the version is released: a change of a table is a new version, and gets a golden
// file of its own.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ackbox/outbox_operator.hpp"
#include "golden_file.hpp"

namespace ackbox::schema_golden_test {
namespace {

using namespace testing::golden;
using std::chrono::minutes;

constexpr const char* kReply = "ackbox.ack.v1";

/// SQL without comments and spaces.
std::string bare(const std::string& sql) {
  std::string text;
  for (std::size_t place = 0; place < sql.size(); ++place) {
    if (sql.compare(place, 2, "--") == 0) {
      place = std::min(sql.find('\n', place), sql.size());
    } else if (sql[place] != ' ' && sql[place] != '\n') {
      text += sql[place];
    }
  }
  return text;
}

/// By name: the definition of each table and index.
std::map<std::string, std::string> definitions(const std::filesystem::path& file) {
  const SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement query(database,
                          "SELECT name,sql FROM sqlite_master WHERE type IN ('table','index') AND sql IS NOT "
                          "NULL AND name LIKE 'ackbox\\_%' ESCAPE '\\' AND name<>'ackbox_notes'");
  std::map<std::string, std::string> found;
  while (query.executeStep()) {
    found[query.getColumn(0).getString()] = bare(query.getColumn(1).getString());
  }
  return found;
}

/// By name: the columns of each view.
std::map<std::string, std::set<std::string>> viewColumns(const std::filesystem::path& file) {
  const SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement query(database,
                          "SELECT v.name,c.name FROM sqlite_master AS v, pragma_table_info(v.name) AS c "
                          "WHERE v.type='view'");
  std::map<std::string, std::set<std::string>> found;
  while (query.executeStep()) {
    found[query.getColumn(0).getString()].insert(query.getColumn(1).getString());
  }
  return found;
}

std::vector<std::string> idsOf(const std::vector<OutboundFrame>& sent, const std::string& session) {
  std::vector<std::string> ids;
  std::uint64_t last = 0;
  for (const OutboundFrame& frame : sent) {
    if (frame.session != session || frame.type == kReply) {
      continue;
    }
    CHECK((session.empty() || frame.sequence > last));
    last = frame.sequence;
    ids.push_back(frame.data == "\"of an id that ackbox made\"" ? "unnamed" : frame.messageId);
  }
  return ids;
}

using Ids = std::vector<std::string>;

TEST_CASE("a file of version 1 is written anew by hand only") {
  if (std::getenv("ACKBOX_REGENERATE") != nullptr) {
    regenerate();
  }
}

TEST_CASE("P10: a file of version 1 has rows of every kind, and is sound before and after it is opened") {
  const File golden;
  {
    SQLite::Database database(golden.file.string(), SQLite::OPEN_READONLY);
    SQLite::Statement tables(database, "SELECT name FROM sqlite_master WHERE type IN ('table','view')");
    while (tables.executeStep()) {
      const std::string name = tables.getColumn(0).getString();
      CHECK_MESSAGE(database.execAndGet("SELECT EXISTS(SELECT * FROM " + name + ")").getInt() == 1, name);
    }
    const auto kinds = [&](const std::string& table, const std::string& column) {
      return database
          .execAndGet("SELECT group_concat(k,' ') FROM (SELECT DISTINCT " + column + " AS k FROM ackbox_" + table +
                      " ORDER BY 1)")
          .getString();
    };
    CHECK(kinds("schema", "version") == "1");
    CHECK(kinds("messages", "state") == "ACKED FAILED PENDING SENDING SENT");
    CHECK(kinds("peers_view", "state") == "disabled down held paused removed up");
    CHECK(kinds("inbound_origins", "state") == "0 1 2");
    CHECK(kinds("inbox", "deferred || (owner_id<>0) || (retry_count<>0)") == "000 100 101 110");
    CHECK(kinds("inbox_results", "outcome") == "0 3");
    CHECK(kinds("sessions", "(lane<>0) || (paused_at_ms<>0) || (blocked_by<>0)") == "000 001 010 100");
    CHECK(kinds("claims", "block<0") == "0 1");
  }
  Agent agent(golden.file, kLater);
  checkSound(OutboxReader::open(golden.file, agent.options()));
  agent.open();
  checkSound(OutboxReader(agent.manager()));
  CHECK(OutboxReader(agent.manager()).fileInfo().notes.size() == 1);
}

TEST_CASE("a file of version 1 has the tables and indexes of a new one, and its views have lost no column") {
  const File golden;
  const auto before = viewColumns(golden.file);
  { Agent(golden.file, kLater).open(); }
  const auto fresh = golden.folder.file("new.db");
  { Agent(fresh, kLater).open(); }
  const auto ours = definitions(golden.file);
  const auto news = definitions(fresh);
  CHECK(ours.size() > 25);
  for (const auto& each : news) {
    const auto found = ours.find(each.first);
    // A change of a table or of an index is a new version of the schema: see docs/compatibility.md.
    CHECK_MESSAGE((found != ours.end() && found->second == each.second), each.first);
  }
  CHECK(ours.size() == news.size());
  const auto after = viewColumns(golden.file);
  SQLite::Database database(golden.file.string(), SQLite::OPEN_READONLY);
  for (const auto& each : before) {
    const std::string& view = each.first;
    REQUIRE_MESSAGE(after.contains(view), view);
    CHECK_MESSAGE(std::ranges::includes(after.at(view), each.second), view);
    CHECK_MESSAGE(database.execAndGet("SELECT EXISTS(SELECT * FROM " + view + ")").getInt() == 1, view);
  }
}

TEST_CASE("P3 P4 P7: what waits in a file of version 1 is delivered in order, also what a dead process had claimed") {
  const File golden;
  Agent agent(golden.file, kLater);
  agent.open();
  OutboxManager& manager = agent.manager();
  CHECK(manager.getStats().sending == 0);
  CHECK(manager.getStats().sent == 1);
  CHECK(manager.getStats().ackedRetained == 4);
  const auto drain = [&] {
    for (int count = 0; count < 5; ++count) {
      manager.drainOnce();
      agent.clock().advance(minutes(1));
    }
    return agent.sender().frames();
  };
  const auto first = drain();
  CHECK(idsOf(first, "orders") == Ids{"deferred-3", "full-4", "unnamed"});
  CHECK(std::ranges::find(first, "full-4", &OutboundFrame::messageId)->resentOf == "acked-1");
  CHECK(idsOf(first, "retried") == Ids{"retried-1", "retried-2"});
  CHECK(idsOf(first, "left") == Ids{"left-2"});
  CHECK(idsOf(first, "states") == Ids{"state-2"});
  CHECK(idsOf(first, "") == Ids{"unordered-1", "unordered-2"});
  CHECK(idsOf(first, "away") == Ids{"away-1", "away-2"});
  CHECK(idsOf(first, "refusing") == Ids{"refusing-1", "refusing-2"});
  CHECK(idsOf(first, "gone").empty());
  CHECK(idsOf(first, "paused").empty());
  CHECK(idsOf(first, "blocked").empty());
  CHECK(idsOf(first, "halted").empty());
  OutboxOperator operations(manager);
  CHECK(operations.resume("paused"));
  CHECK(operations.resume("bob", "halted"));
  CHECK(operations.unblock("bob", "blocked"));
  CHECK_FALSE(operations.resume("gone"));
  CHECK(operations.retry("dead-unordered").done());
  const auto all = drain();
  CHECK(idsOf(all, "gone") == Ids{"gone-1", "gone-2"});
  CHECK(idsOf(all, "paused") == Ids{"paused-1"});
  CHECK(idsOf(all, "blocked") == Ids{"blocked-2"});
  CHECK(idsOf(all, "halted") == Ids{"halted-1"});
  CHECK(idsOf(all, "").back() == "dead-unordered");
  CHECK(manager.getStats().pending == 0);
  CHECK(manager.getStats().failed == 1);
  checkSound(OutboxReader(manager));
}

TEST_CASE("P5 P6: what a file of version 1 has received and the keys that it was given are known") {
  const File golden;
  Agent agent(golden.file, kLater);
  agent.open();
  Frame again = message("bob", "orders", "");
  again.idempotencyKey = "key-4";
  const EnqueueReceipt receipt = agent.manager().enqueue(again);
  CHECK(receipt.status == EnqueueStatus::duplicate);
  CHECK(receipt.messageId == "full-4");
  SendRequest alone = frames(2, "", 1, 1, "quick");
  alone.frames[0].sequence = 0;
  for (const SendRequest& request :
       {frames(2, "quick", 1, 3, "quick"), frames(2, "booked", 1, 1, "booked"), frames(2, "refused", 1, 1, "refused"),
        frames(2, "failing", 1, 2, "failing"), frames(2, "held", 1, 2, "held"), alone}) {
    const std::string body = agent.post(request).body;
    CHECK_MESSAGE(body.find("\"duplicate\":true") != std::string::npos, body);
  }
  CHECK(agent.post(frames(2, "refused", 1, 1, "refused")).body.find("unknown-order") != std::string::npos);
  CHECK(agent.post(frames(2, "booked", 1, 1, "booked")).body.find("booked\":true") != std::string::npos);
  for (const std::size_t store : {0UL, 1UL}) {
    const std::string body = agent.post(frames(store, "closed", 2, 2, "quick")).body;
    CHECK_MESSAGE(body.find("closed-origin") != std::string::npos, body);
  }
  CHECK(agent.handled().empty());
  // What a dead process had in hand runs again, and what failed waits for its instant.
  agent.awaitWork(1, 6);
  CHECK(OutboxReader(agent.manager()).inboxFrame("urn:agent:bob", "failing-1")->resentOf == "first");
  checkSound(OutboxReader(agent.manager()));
}

}  // namespace
}  // namespace ackbox::schema_golden_test
