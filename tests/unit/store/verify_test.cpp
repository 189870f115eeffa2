// Goal: P10: verify finds each broken invariant and names table and row; a file that the store wrote has none.
// Method: a file with a message in every state, and a table of statements that break one invariant each.

#include "store/sqlite/read/verify.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/sqlite/outbound/message_ids.hpp"
#include "store/sqlite/schema/rules.hpp"
#include "store_world.hpp"

namespace verify_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;

namespace {

/// Rows 1 FAILED, 2 SENT, 3 SENDING in session 1; row 4 PENDING in session 2.
struct File {
  File() : store(world.open()) {
    for (const char* session : {"s", "s", "s"}) {
      enqueueOne(*store, frameOf(session));
    }
    const store::ClaimReply reply = claimNew(*store);
    auto failed = settlementOf(reply, Transition::fail, 0, 0);
    failed.reason = "rejected";
    REQUIRE(settleOne(*store, failed));
    REQUIRE(settleOne(*store, settlementOf(reply, Transition::defer, 0, 1)));
    enqueueOne(*store, frameOf("t"));
  }

  void breakWith(const std::string& sql) { SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec(sql); }
  VerifyReport verify() const { return store::sqlite::verify(world.file, world.options); }
  FileRepairReport repair(bool isRehearsal) const {
    OutboxOptions options = world.options;
    options.createSchema = false;
    options.adoptPeers = true;
    return store::sqlite::SqliteStore::repairFile({world.file, options, nullptr}, isRehearsal);
  }
  /// The first column of each row.
  std::vector<std::string> query(const std::string& sql) const {
    SQLite::Database database(world.file.string());
    SQLite::Statement statement(database, sql);
    std::vector<std::string> texts;
    while (statement.executeStep()) {
      texts.push_back(statement.getColumn(0).getString());
    }
    return texts;
  }

  StoreWorld world;
  std::unique_ptr<store::sqlite::SqliteStore> store;
};

/// A change that breaks one invariant. `~` is the message id of row 4.
struct Break {
  const char* table;
  const char* problem;
  std::int64_t row;
  const char* sql;
};

constexpr const char* kWaiting =
    "INSERT INTO ackbox_inbox(id,origin,session,sequence,frame_id,source,epoch,previous_sequence,deferred,owner_id,"
    "accepted_at_ms,type,data,checksum) VALUES";

constexpr Break kBreaks[] = {
    {"meta", "the store's identity is missing", 0, "DELETE FROM ackbox_meta"},
    {"counters", "the row is missing", 0, "DELETE FROM ackbox_counters"},
    {"outbox", "its state is unknown", 4, "UPDATE ackbox_outbox SET state=9 WHERE id=4"},
    {"outbox", "its session is missing", 4, "UPDATE ackbox_outbox SET session_id=77 WHERE id=4"},
    {"outbox", "its id is beyond the last that was counted, but it is not new", 1,
     "UPDATE ackbox_counters SET last_key=0"},
    {"outbox", "its message id is another one's as well", 3,
     "UPDATE ackbox_outbox SET id_rest=NULL, message_id=~ WHERE id=3"},
    {"outbox", "it has no message id, two, or one that cannot say its row", 4,
     "UPDATE ackbox_outbox SET message_id='x' WHERE id=4"},
    {"claims", "its owner is not registered", 0, "UPDATE ackbox_claims SET owner_id=99 WHERE block=0"},
    {"claims", "its owner is not registered", -1, "UPDATE ackbox_claims SET owner_id=99 WHERE block=-1"},
    {"claims", "two owners have claimed the same", 0,
     "INSERT INTO ackbox_owners SELECT 99,0,0,0,''; INSERT INTO ackbox_claims SELECT block,99,bits FROM ackbox_claims "
     "WHERE block=0"},
    {"claims", "it claims a message that is missing or not pending", 0,
     "UPDATE ackbox_claims SET bits=bits|1<<9 WHERE block=0"},
    {"claims", "it claims a message that is missing or not pending", 0,
     "UPDATE ackbox_claims SET bits=bits|1<<63 WHERE block=0"},
    {"claims", "it claims a session that is missing, or a queue of unordered messages", -1,
     "UPDATE ackbox_claims SET bits=bits|1<<9 WHERE block=-1"},
    {"claims", "it claims a session that is missing, or a queue of unordered messages", -1,
     "UPDATE ackbox_claims SET bits=bits|1<<63 WHERE block=-1"},
    {"outbox", "it is a dead letter without a reason", 1, "UPDATE ackbox_outbox SET reason=NULL WHERE id=1"},
    {"outbox", "its sequence does not rise in its session", 3, "UPDATE ackbox_outbox SET sequence=2 WHERE id=3"},
    {"outbox", "it was never tried, but its session's predecessor has passed it", 4,
     "UPDATE ackbox_session_states SET previous_sequence=1 WHERE session_id=2"},
    {"outbox", "it is unordered but has a sequence, or is ordered and has none", 4,
     "UPDATE ackbox_outbox SET sequence=0 WHERE id=4"},
    {"outbox", "it is unordered but could be superseded", 4,
     "UPDATE ackbox_outbox SET sequence=0, supersede_key='k' WHERE id=4"},
    {"outbox", "it was never tried, but is due at another instant than it was enqueued for", 4,
     "UPDATE ackbox_outbox SET due_at_ms=5 WHERE id=4"},
    {"sessions", "its priority is out of range", 2, "UPDATE ackbox_sessions SET priority=10 WHERE id=2"},
    {"sessions", "its lane is out of range", 2, "UPDATE ackbox_sessions SET lane=5000000000000 WHERE id=2"},
    {"sessions", "it is a queue of unordered messages, but has a backoff, a name or a sequence", 2,
     "UPDATE ackbox_sessions SET lane=5 WHERE id=2"},
    {"sessions", "its state is missing", 2, "DELETE FROM ackbox_session_states WHERE session_id=2"},
    {"session_states", "its session is missing", 99, "INSERT INTO ackbox_session_states VALUES(99,0,0,0,0,0,0,0,0)"},
    {"idempotency_keys", "it names no message, but a number", 0,
     "INSERT INTO ackbox_idempotency_keys VALUES('k',1,'',1,0,0)"},
    {"publications", "its key is not known", 0, "INSERT INTO ackbox_publications VALUES('k',0,1,'m',1)"},
    {"subscriptions", "its peer is missing or removed", 0, "INSERT INTO ackbox_subscriptions VALUES('n',99,'*','',0)"},
    {"idempotency_keys", "the message that it names stands before its first place", 0,
     "INSERT INTO ackbox_idempotency_keys VALUES('k',1,~,5,0,0)"},
    {"sessions", "its peer is missing", 2, "UPDATE ackbox_sessions SET peer_id=99 WHERE id=2"},
    {"session_states", "its last sequence is behind a message of it", 1,
     "UPDATE ackbox_session_states SET last_sequence=2 WHERE session_id=1"},
    {"counters", "tails_key is no key that was given", 1, "UPDATE ackbox_counters SET tails_key=last_key+1"},
    {"counters", "tails_key is no key that was given", 1, "UPDATE ackbox_counters SET tails_key=-1"},
    {"session_states", "its predecessor is ahead of its last sequence", 1,
     "UPDATE ackbox_session_states SET previous_sequence=9, confirmed_sequence=9 WHERE session_id=1"},
    {"session_states", "its predecessor was never accepted", 1,
     "UPDATE ackbox_session_states SET previous_sequence=3, confirmed_sequence=2 WHERE session_id=1"},
    {"session_states", "a number was accepted that it has not given away", 1,
     "UPDATE ackbox_session_states SET confirmed_sequence=4 WHERE session_id=1"},
    {"sessions", "its rows were put back more often than any", 2, "UPDATE ackbox_sessions SET recall=1 WHERE id=2"},
    {"peers", "it has forgotten, and not when, or the other way round", 1, "UPDATE ackbox_peers SET resets=1"},
    {"inbound_sessions", "its epoch is newer than its sender's store", 7,
     "INSERT INTO ackbox_inbound_sessions(id,source,origin,session,accepted_sequence,epoch,gaps,updated_at_ms,"
     "accepted_id,accepted_digest) VALUES(7,'urn:a','o','s',1,1,0,0,'i',0)"},
    {"session_states", "live is not the number of its rows that are not settled", 1,
     "UPDATE ackbox_session_states SET live=live+1 WHERE session_id=1"},
    {"session_states", "failed is not the number of its dead letters", 1,
     "UPDATE ackbox_session_states SET failed=failed+1 WHERE session_id=1"},
    {"outbox", "it is live, but the counters say that all live rows come after it", 2,
     "UPDATE ackbox_counters SET oldest_key=5"},
    {"counters", "retained is not the number of ACKED rows", 1, "UPDATE ackbox_counters SET retained=7"},
    {"peers", "the file knows several, and this one has no counters", 9,
     "INSERT INTO ackbox_peers(id,name,url,agent,max_requests) VALUES(9,'x','','',1)"},
    {"peer_counters", "the gauges are not what its rows say", 1,
     "INSERT INTO ackbox_peer_counters(peer_id,pending) VALUES(1,77)"},
    {"sessions", "what blocks it is no dead letter of it", 2,
     "UPDATE ackbox_sessions SET blocked_by=4, blocked_at_ms=1 WHERE id=2"},
    {"sessions", "it is blocked or not, but does not say since when", 1,
     "UPDATE ackbox_sessions SET blocked_by=1 WHERE id=1"},
    {"peers", "its name is empty or too long", 1, "UPDATE ackbox_peers SET name=''"},
    {"peers", "no agent could have as many requests under way to it", 1, "UPDATE ackbox_peers SET max_requests=0"},
    {"owners", "its number is out of range, or leaves no number for the next", 9'223'372'036'854'775'807,
     "INSERT INTO ackbox_owners VALUES(9223372036854775807,0,0,0,'')"},
    {"owners", "sqlite_sequence leaves no number for the next", 9'223'372'036'854'775'807,
     "UPDATE sqlite_sequence SET seq=9223372036854775807 WHERE name='ackbox_owners'"},
    {"inbox", "sqlite_sequence leaves no number for the next", 9'223'372'036'854'775'807,
     "INSERT INTO sqlite_sequence VALUES('ackbox_inbox',9223372036854775807)"},
    {"outbox", "it is pending again under a number that its session has passed", 1,
     "UPDATE ackbox_outbox SET state=0 WHERE id=1; UPDATE ackbox_session_states SET previous_sequence=1, "
     "confirmed_sequence=1 WHERE session_id=1"},
    {"counters", "last_key is no key, or leaves none for the next", 1, "UPDATE ackbox_counters SET last_key=-1"},
    {"counters", "last_key is no key, or leaves none for the next", 1,
     "UPDATE ackbox_counters SET last_key=9223372036854775807"},
    {"peers", "it is held though it is not down", 1, "UPDATE ackbox_peers SET hold=1"},
    {"peers", "its hold is unknown", 1, "UPDATE ackbox_peers SET hold=7, down=1"},
    {"counters", "pending is not the number of PENDING and SENDING rows", 1,
     "UPDATE ackbox_counters SET pending=pending+1"},
    {"counters", "sent is not the number of SENT rows", 1, "UPDATE ackbox_counters SET sent=7"},
    {"counters", "failed is not the number of FAILED rows", 1, "UPDATE ackbox_counters SET failed=0"},
    {"counters", "inbox is not the number of rows of the inbox", 1, "UPDATE ackbox_counters SET inbox=7"},
    {"inbox", "its owner is not registered", 3, "+(3,'o','s',1,'f','urn:a',1,0,1,99,0,'t','1',0)"},
    {"inbox", "it waits beyond what its session has accepted", 3, "+(3,'o','s',1,'f','urn:a',1,0,1,0,0,'t','1',0)"},
    {"inbox", "it was accepted out of its session's order", 4,
     "+(3,'o','s',2,'f','urn:a',1,0,1,0,0,'t','1',0),(4,'o','s',1,'g','urn:a',1,0,1,0,0,'t','1',0)"},
    {"inbox", "a run of it failed, and it does not say why and when", 3,
     "+(3,'o','',0,'f','urn:a',1,0,1,0,0,'t','1',0); UPDATE ackbox_inbox SET retry_count=1"},
    {"inbox", "its final result is kept already", 3,
     "+(3,'o','s',1,'f','urn:a',1,0,1,0,0,'t','1',0); INSERT INTO ackbox_inbox_results(frame_id,source,origin,session,"
     "sequence,outcome,keep_until_ms) VALUES('f','urn:a','o','s',1,3,0)"},
    {"inbound_senders", "the gauges are not what its rows say", 0,
     "INSERT INTO ackbox_inbound_senders VALUES('urn:x',1,0,0,0,0,0)"},
    {"inbound_senders", "a sender has rows and no gauges", 0,
     "INSERT INTO ackbox_processed_messages(id,source,processed_at_ms,keep_until_ms,digest) VALUES('i','urn:x',0,0,0)"},
    {"inbound_origins", "its state is unknown", 0, "INSERT INTO ackbox_inbound_origins VALUES('urn:x','o',1,7,0,0)"},
    {"inbound_origins", "it is closed, but keeps sessions", 0,
     "INSERT INTO ackbox_inbound_origins VALUES('urn:x','o',1,2,0,0); INSERT INTO ackbox_inbound_sessions(id,source,"
     "origin,session,accepted_sequence,epoch,gaps,updated_at_ms,accepted_id,accepted_digest) "
     "VALUES(7,'urn:x','o','s',1,1,0,0,'i',0)"},
    {"counters", "inbound_bytes is not the sum over the senders", 1, "UPDATE ackbox_counters SET inbound_bytes=7"},
    {"counters", "inbox_bytes is not the size of the inbox's data", 1, "UPDATE ackbox_counters SET inbox_bytes=7"},
    {"counters", "pending_bytes is not the size of the live rows' data", 1,
     "UPDATE ackbox_counters SET pending_bytes=-1"},
};

std::string statementsOf(const Break& one) {
  std::string sql = one.sql;
  if (sql.front() == '+') {
    sql.replace(0, 1, kWaiting);
  }
  if (const std::size_t place = sql.find('~'); place != std::string::npos) {
    sql.replace(
        place, 1,
        std::string("(SELECT ").append(store::sqlite::kMessageId).append(" FROM ackbox_outbox AS o WHERE o.id=4)"));
  }
  return sql;
}

}  // namespace

TEST_CASE("P10: a file with messages in every state has no findings, and SQLite's version is told") {
  const File file;
  const VerifyReport report = file.verify();
  for (const Finding& finding : report.findings) {
    FAIL_CHECK(finding.table << " " << finding.row << ": " << finding.problem);
  }
  CHECK(report.sqliteVersion == SQLite::getLibVersion());
}

TEST_CASE("P10: each broken invariant is found, by its own check, with its table and row") {
  for (const Break& one : kBreaks) {
    CAPTURE(std::string(one.sql));
    CAPTURE(std::string(one.problem));
    File file;
    file.breakWith(statementsOf(one));
    bool found = false;
    for (const Finding& finding : file.verify().findings) {
      found = found || (finding.table == std::string("ackbox_") + one.table && finding.row == one.row &&
                        finding.problem == one.problem);
    }
    CHECK(found);
  }
}

TEST_CASE("P10: a row that is not what was written is found, whatever of it changed") {
  for (const char* change :
       {"data=CAST(replace(data,'1','3') AS BLOB)||' '", "type=type||'x'", "sequence=sequence+1", "expires_at_ms=77",
        "created_at_ms=created_at_ms+1", "id_rest=id_rest+1", "traceparent='t'", "correlation_id='c'", "checksum=0",
        "session_id=iif(session_id=1,2,1)"}) {
    CAPTURE(std::string(change));
    File file;
    file.breakWith(std::string("UPDATE ackbox_outbox SET ") + change + " WHERE id=4");
    std::set<std::int64_t> damaged;
    for (const Finding& finding : file.verify().findings) {
      if (finding.problem == "it is not what was written: its checksum differs") {
        CHECK(finding.table == "ackbox_outbox");
        damaged.insert(finding.row);
      }
    }
    CHECK(damaged == std::set<std::int64_t>{4});
  }
}

TEST_CASE("P10: there is a broken row for every invariant, and none for what is no invariant") {
  std::set<std::pair<std::string_view, std::string_view>> broken;
  for (const Break& one : kBreaks) {
    broken.emplace(one.table, one.problem);
  }
  std::set<std::pair<std::string_view, std::string_view>> checked;
  for (const store::sqlite::Rule& rule : store::sqlite::rules()) {
    CHECK_MESSAGE(checked.emplace(rule.table, rule.problem).second, rule.problem << ": said by two checks");
    CHECK_MESSAGE(broken.contains({rule.table, rule.problem}),
                  rule.table << ": " << rule.problem << ": no test breaks it");
  }
  for (const auto& rule : broken) {
    CHECK_MESSAGE(checked.contains(rule), rule.first << ": " << rule.second << ": nothing checks it");
  }
}

TEST_CASE("P10: a repair mends what its rule says, leaves the rest with the reason, and a rehearsal foretells both") {
  for (const Break& one : kBreaks) {
    CAPTURE(std::string(one.sql));
    CAPTURE(std::string(one.problem));
    File file;
    file.breakWith(statementsOf(one));
    const auto textsOf = [](const std::vector<Finding>& findings) {
      std::vector<std::string> texts;
      for (const Finding& finding : findings) {
        texts.push_back(finding.table + " " + std::to_string(finding.row) + ": " + finding.problem);
      }
      return texts;
    };
    const std::vector<std::string> before = textsOf(file.verify().findings);
    const FileRepairReport foretold = file.repair(true);
    CHECK(textsOf(file.verify().findings) == before);
    const FileRepairReport done = file.repair(false);
    CHECK(foretold.findings == done.findings);
    CHECK(textsOf(foretold.left) == textsOf(done.left));
    CHECK(done.left.size() == file.verify().findings.size());
    for (const store::sqlite::Rule& rule : store::sqlite::rules()) {
      if (rule.table != std::string_view(one.table) || rule.problem != std::string_view(one.problem)) {
        continue;
      }
      const std::string text = std::string(rule.problem) + ": " + rule.outcome;
      for (const Finding& finding : done.left) {
        CHECK_MESSAGE(!(rule.mend != nullptr && finding.problem == rule.problem), finding.problem);
      }
      if (rule.mend == nullptr) {
        CHECK_MESSAGE(std::ranges::any_of(done.left, [&](const Finding& finding) { return finding.problem == text; }),
                      text);
      }
    }
    CHECK(file.repair(false).mended == 0);
  }
}

TEST_CASE("P10: what keeps a file from being opened is mended without opening it") {
  for (const char* sql : {"UPDATE ackbox_peers SET max_requests=0", "UPDATE ackbox_peers SET max_requests=x'ff'",
                          "INSERT INTO ackbox_owners VALUES(9223372036854775807,0,0,0,'')",
                          "UPDATE sqlite_sequence SET seq=9223372036854775807 WHERE name='ackbox_owners'",
                          "DELETE FROM ackbox_counters", "DROP INDEX ackbox_inbox_owned"}) {
    CAPTURE(std::string(sql));
    File file;
    file.store.reset();
    file.breakWith(sql);
    file.world.options.adoptPeers = true;
    if (std::string_view(sql).find("max_requests") == std::string_view::npos) {
      CHECK_THROWS_AS(file.world.open(), Error);
    }
    CHECK(file.repair(false).mended != 0);
    CHECK(file.verify().clean());
    CHECK(enqueueOne(*file.world.open(), frameOf("t")).status == EnqueueStatus::stored);
  }
}

TEST_CASE(
    "P10: each table, index and view that is missing or another one is found, and made anew where nothing is lost") {
  const auto problemsOf = [](const File& file, const std::string& name) {
    std::string problems;
    for (const Finding& finding : file.verify().findings) {
      problems += finding.table == name ? finding.problem : "";
    }
    return problems;
  };
  const std::vector<std::string> indexes =
      File().query("SELECT name FROM sqlite_master WHERE type='index' AND sql IS NOT NULL");
  CHECK(indexes.size() > 10);
  for (const std::string& index : indexes) {
    CAPTURE(index);
    File file;
    file.breakWith("DROP INDEX " + index);
    CHECK(problemsOf(file, index).find("the index is missing") == 0);
    file.breakWith("CREATE INDEX " + index + " ON ackbox_peers(url)");
    CHECK(problemsOf(file, index).find("it is not the index that ackbox makes") == 0);
    CHECK(file.repair(false).mended == 1);
    CHECK(file.verify().clean());
  }
  File file;
  file.breakWith("ALTER TABLE ackbox_peers ADD COLUMN color TEXT");
  CHECK(problemsOf(file, "ackbox_peers").find("it is not the table that ackbox makes") == 0);
  CHECK(file.repair(true).left.size() == 1);
}

TEST_CASE("P10: an index that its rows do not fit stays missing, and is named") {
  File file;
  file.breakWith(
      "DROP INDEX ackbox_outbox_named; UPDATE ackbox_outbox SET id_rest=NULL, message_id='same' WHERE id IN (1,4)");
  const FileRepairReport report = file.repair(false);
  REQUIRE_FALSE(report.left.empty());
  CHECK(report.left[0].table == "ackbox_outbox_named");
}

TEST_CASE("P10: a value of another type than its column's is found in each column, and data that is no JSON") {
  const std::string fill = std::string(kWaiting) +
                           "(3,'o','s',1,'f','urn:a',1,0,1,0,0,'t','1',0);"
                           "INSERT INTO ackbox_idempotency_keys VALUES('k',1,'m',0,0,0);"
                           "INSERT INTO ackbox_vacated_numbers VALUES(1,1,'m');"
                           "INSERT INTO ackbox_publications VALUES('k',0,1,'m',1);"
                           "INSERT INTO ackbox_subscriptions VALUES('n',1,'*','',0);"
                           "INSERT INTO ackbox_inbound_sessions VALUES(1,'urn:a','o','s',1,1,0,0,'i',0);"
                           "INSERT INTO ackbox_inbound_origins VALUES('urn:a','o',1,0,0,0);"
                           "INSERT INTO ackbox_processed_messages VALUES('i','urn:a',0,0,0);"
                           "INSERT INTO ackbox_inbox_results VALUES('g','urn:a','o','s',1,3,'c','d','{}',0,'t',0,0);"
                           "INSERT INTO ackbox_inbound_senders VALUES('urn:a',1,1,1,1,1,1);"
                           "INSERT OR IGNORE INTO ackbox_peer_counters(peer_id) VALUES(1);"
                           "INSERT INTO ackbox_owners VALUES(5,1,0,0,''); INSERT INTO ackbox_claims VALUES(0,5,8);";
  File file;
  file.store.reset();
  file.breakWith(fill);
  const std::vector<std::string> columns = file.query(
      "SELECT m.name||' '||c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type='table' AND "
      "m.name LIKE 'ackbox%'");
  CHECK(columns.size() > 150);
  SQLite::Database database(file.world.file.string(), SQLite::OPEN_READWRITE);
  const auto isFound = [&database](const std::string& table, const std::string& change, const std::string& problem) {
    SQLite::Transaction undone(database);
    try {
      // Of rows that may not be equal in it, one changes.
      database.exec("UPDATE OR IGNORE " + table + " SET " + change);
    } catch (const SQLite::Exception&) {
      // SQLite itself keeps other types out of rowids.
      return change.starts_with("id=") || change.starts_with("session_id=") || change.starts_with("peer_id=");
    }
    const std::vector<Finding> findings = store::sqlite::findingsOf(database.getHandle(), "ackbox_", false);
    return std::ranges::any_of(findings, [&](const Finding& finding) {
      return finding.table == table && finding.problem.starts_with(problem);
    });
  };
  for (const std::string& name : columns) {
    const std::string table = name.substr(0, name.find(' '));
    const std::string column = name.substr(name.find(' ') + 1);
    const bool holdsBytes = column == "data";
    CHECK_MESSAGE(isFound(table, column + (holdsBytes ? "=7" : "=x'ff'"), column + " is n"), name);
  }
  for (const auto& place : {std::pair("ackbox_outbox", "data"), std::pair("ackbox_outbox", "attempt_log"),
                            std::pair("ackbox_inbox", "data"), std::pair("ackbox_inbox_results", "result")}) {
    const std::string column = place.second;
    CHECK_MESSAGE(isFound(place.first, column + "='{'", column + " is no JSON"), place.first);
  }
  CHECK(isFound("ackbox_session_states", "last_sequence=9223372036854775807", "last_sequence is not from 0 to "));
  CHECK(isFound("ackbox_peers", "down=2", "down is not from 0 to 1"));
  CHECK_FALSE(isFound("ackbox_inbox", "data='{', data_content_type='text/plain'", "data is no JSON"));
}

TEST_CASE("P10: an index that lacks its rows is SQLite's own finding") {
  File file;
  file.breakWith(
      "PRAGMA writable_schema=ON; CREATE TABLE other(a); CREATE INDEX other_a ON other(a); "
      "UPDATE sqlite_master SET rootpage=(SELECT rootpage FROM sqlite_master WHERE name='other_a') "
      "WHERE name='ackbox_outbox_failed'");
  const VerifyReport report = file.verify();
  REQUIRE_FALSE(report.clean());
  CHECK(report.findings[0].table.empty());
}

TEST_CASE("P10: an index with as many rows as its table, but others, is found, too") {
  File file;
  file.breakWith(
      "PRAGMA writable_schema=ON; CREATE INDEX other_a ON ackbox_peers(url); "
      "UPDATE sqlite_master SET rootpage=(SELECT sum(rootpage) FROM sqlite_master WHERE name IN ('other_a', "
      "'sqlite_autoindex_ackbox_peers_1'))-rootpage WHERE name IN ('other_a', 'sqlite_autoindex_ackbox_peers_1')");
  const VerifyReport report = file.verify();
  REQUIRE_FALSE(report.clean());
  CHECK(report.findings[0].table.empty());
}

TEST_CASE("P10: tables that need the application's own functions and collations hinder no check of the others") {
  File file;
  {
    SQLite::Database application(file.world.file.string(), SQLite::OPEN_READWRITE);
    const auto same = [](sqlite3_context* context, int, sqlite3_value** values) {
      sqlite3_result_value(context, values[0]);
    };
    sqlite3_create_function(application.getHandle(), "same", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, same,
                            nullptr, nullptr);
    const auto order = [](void*, int left, const void* one, int right, const void* other) {
      return std::string_view(static_cast<const char*>(one), static_cast<std::size_t>(left))
          .compare(std::string_view(static_cast<const char*>(other), static_cast<std::size_t>(right)));
    };
    sqlite3_create_collation(application.getHandle(), "plain", SQLITE_UTF8, nullptr, order);
    application.exec("CREATE TABLE checked(n CHECK(same(n)=n)); INSERT INTO checked VALUES(1)");
    CHECK(file.verify().clean());
    CHECK(file.verify().notChecked.empty());
    application.exec(
        "CREATE TABLE \"a #1 'b\"(t); CREATE INDEX by_plain ON \"a #1 'b\"(t COLLATE plain);"
        "CREATE TABLE computed(n); CREATE INDEX by_same ON computed(same(n))");
  }
  CHECK(file.verify().clean());
  CHECK(file.verify().notChecked == std::vector<std::string>{"a #1 'b", "computed"});
  // An index of ours without its rows.
  file.breakWith(
      "PRAGMA writable_schema=ON; CREATE TABLE other(a); CREATE INDEX other_a ON other(a); "
      "UPDATE sqlite_master SET rootpage=(SELECT rootpage FROM sqlite_master WHERE name='other_a') "
      "WHERE name='ackbox_outbox_failed'");
  CHECK_FALSE(file.verify().clean());
}

}  // namespace verify_test
