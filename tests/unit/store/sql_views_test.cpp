// Goal: the views say in plain SQL what `OutboxReader` says, for a message in each state, and run in a program that has
// nothing of ackbox (docs/sql_views.md).
// Method: a file with messages in all states, made by settles; each row of a view is compared with the reader's value
// and with instants that the test formats itself; python3 reads the same file in a process of its own.

#include "store/sqlite/schema/views.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/timestamp.hpp"
#include "store/kept_session.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"

namespace sql_views_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;

namespace {

constexpr std::chrono::hours kLater{1};

std::string text(const SQLite::Column& column) {
  return column.isNull() ? "NULL" : column.getString();
}

std::string instant(WallTime time) {
  return time == WallTime{} ? "NULL" : formatTimestamp(time);
}

std::string orNull(const std::string& value) {
  return value.empty() ? "NULL" : value;
}

/// Messages that are pending, delayed, unordered, backing off, being sent, deferred, acknowledged and kept, and given
/// up for each reason; half of them with ids of ackbox's own making.
struct Filled {
  Filled() {
    world.options.ackedRetention = kLater;
    world.clock->advance(std::chrono::milliseconds(7));
    store = world.open();
    settle("acked", Transition::ack);
    settle("sent", Transition::defer);
    settle("retried", Transition::retry);
    for (const char* reason : kReasons) {
      settle(reason, Transition::fail, reason);
    }
    settle("restored", Transition::fail, "rejected");
    inTransaction(*store, [&] { return store->deadLetters().change("restored", Transition::redrive, {}); });
    enqueueOne(*store, frameOf("flight"));
    claim = claimNew(*store);
    Frame delayed = frameOf("plain", R"({"text":"ä € 𝄞"})");
    delayed.notBefore = world.clock->wallNow() + kLater;
    delayed.expiresAt = world.clock->wallNow() + 2 * kLater;
    delayed.supersedeKey = "key";
    delayed.correlationId = "what it answers";
    enqueueOne(*store, delayed);
    enqueueOne(*store, frameOf("", "[]"));
  }

  void settle(const std::string& id, Transition transition, const char* reason = "") {
    enqueueOne(*store, frameOf(id, "{}", transition == Transition::retry ? "" : id));
    const store::ClaimReply reply = claimNew(*store);
    delivery::Settlement settlement = settlementOf(reply, transition);
    settlement.reason = reason;
    settlement.error = transition == Transition::ack ? "" : "its words";
    settlement.dueAt = world.clock->wallNow() + kLater;
    REQUIRE(settleOne(*store, settlement));
    const delivery::SessionRelease release{.session = reply.sessions[0].session, .dueAt = {}, .previousSequence = {}};
    inTransaction(*store, [&] { store->claims().endClaims({&release, 1}); });
    world.clock->advance(std::chrono::milliseconds(1234));
  }

  static constexpr std::array kReasons = {"retry-budget",     "horizon",     "expired",
                                          "retry-policy",     "rejected",    "dead-letter-by-policy",
                                          "rejected-request", "peer-killer", "a-peers-own"};
  StoreWorld world;
  std::unique_ptr<store::sqlite::SqliteStore> store;
  store::ClaimReply claim;
};

TEST_CASE("ackbox_messages has what the reader has, for each state") {
  Filled filled;
  const store::sqlite::SqliteReader reader(filled.world.file, filled.world.options);
  const SQLite::Database database(filled.world.file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement row(database,
                        "SELECT message_id,row_id,peer,session,sequence,type,state,retry_count,enqueued_at,due_at,"
                        "reason,last_error,not_before,expires_at,supersede_key,correlation_id,data,typeof(data),"
                        "process_id,priority,attempts FROM ackbox_messages ORDER BY row_id");
  std::map<std::string, int> states;
  while (row.executeStep()) {
    const std::optional<MessageInfo> info = reader.find(row.getColumn(0).getString());
    REQUIRE_MESSAGE(info, text(row.getColumn(0)));
    const std::optional<Frame> frame = reader.frame(info->messageId);
    REQUIRE(frame);
    ++states[std::string(toString(info->state))];
    CHECK(row.getColumn(1).getInt64() == info->row);
    CHECK(text(row.getColumn(2)) == info->peer);
    CHECK(text(row.getColumn(3)) == orNull(info->session));
    CHECK(text(row.getColumn(4)) == (info->sequence == 0 ? "NULL" : std::to_string(info->sequence)));
    CHECK(text(row.getColumn(5)) == info->type);
    CHECK(text(row.getColumn(6)) == toString(info->state));
    CHECK(row.getColumn(7).getUInt() == info->retryCount);
    CHECK(text(row.getColumn(8)) == instant(info->enqueuedAt));
    CHECK(text(row.getColumn(9)) == instant(info->dueAt));
    CHECK(text(row.getColumn(10)) == orNull(info->reason));
    CHECK(text(row.getColumn(11)) == orNull(info->lastError));
    CHECK(text(row.getColumn(12)) == instant(frame->notBefore.value_or(WallTime{})));
    CHECK(text(row.getColumn(13)) == instant(frame->expiresAt.value_or(WallTime{})));
    CHECK(text(row.getColumn(14)) == orNull(frame->supersedeKey));
    CHECK(text(row.getColumn(15)) == orNull(frame->correlationId));
    CHECK(text(row.getColumn(16)) == frame->data);
    CHECK(text(row.getColumn(17)) == "text");
    CHECK(text(row.getColumn(18)) == (info->state == MessageState::sending ? std::to_string(::getpid()) : "NULL"));
    CHECK(row.getColumn(19).getInt() == frame->priority);
    const bool isOver =
        info->state != MessageState::sending && (info->state != MessageState::pending || info->retryCount != 0);
    CHECK((row.getColumn(20).getInt() != 0) == isOver);
  }
  CHECK(states == std::map<std::string, int>{{"ACKED", 1},
                                             {"FAILED", static_cast<int>(Filled::kReasons.size())},
                                             {"PENDING", 3},
                                             {"SENDING", 2},
                                             {"SENT", 1}});
}

TEST_CASE("ackbox_dead_letters lists each with its meaning, by the index of dead letters") {
  Filled filled;
  const store::sqlite::SqliteReader reader(filled.world.file, filled.world.options);
  const DeadLetterPage page = reader.deadLetters({}, 100, 0);
  const SQLite::Database database(filled.world.file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement row(database,
                        "SELECT message_id,reason,last_error,failed_at,meaning,blocks_session FROM ackbox_dead_letters "
                        "ORDER BY row_id");
  std::map<std::string, int> meanings;
  for (const MessageInfo& info : page.messages) {
    REQUIRE(row.executeStep());
    CHECK(text(row.getColumn(0)) == info.messageId);
    CHECK(text(row.getColumn(1)) == info.reason);
    CHECK(text(row.getColumn(2)) == info.lastError);
    CHECK(text(row.getColumn(3)) == instant(info.dueAt));
    ++meanings[text(row.getColumn(4))];
    CHECK(row.getColumn(5).getInt() == 0);
  }
  CHECK_FALSE(row.executeStep());
  CHECK(meanings.size() == Filled::kReasons.size());
  CHECK(meanings["the peer or the application gave this reason"] == 1);
  SQLite::Statement plan(database, "EXPLAIN QUERY PLAN SELECT * FROM ackbox_dead_letters");
  REQUIRE(plan.executeStep());
  CHECK(text(plan.getColumn(3)).find("USING INDEX ackbox_outbox_failed") != std::string::npos);
}

TEST_CASE("ackbox_sessions_view has what the reader has, also what sessions' own rows do not say yet") {
  Filled filled;
  const store::sqlite::SqliteReader reader(filled.world.file, filled.world.options);
  const SQLite::Database database(filled.world.file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement row(database,
                        "SELECT peer,session,live,failed,last_sequence,accepted_sequence,due_at,process_id,paused_at,"
                        "blocked_by FROM ackbox_sessions_view");
  std::size_t rows = 0;
  for (; row.executeStep(); ++rows) {
    const auto stats = reader.sessionStats(text(row.getColumn(0)), text(row.getColumn(1)));
    REQUIRE(stats);
    CHECK(row.getColumn(2).getInt64() == static_cast<std::int64_t>(stats->live));
    CHECK(row.getColumn(3).getInt64() == static_cast<std::int64_t>(stats->failed));
    CHECK(row.getColumn(4).getInt64() == static_cast<std::int64_t>(stats->lastSequence));
    CHECK(row.getColumn(5).getInt64() == static_cast<std::int64_t>(stats->acceptedSequence));
    CHECK(text(row.getColumn(6)) == instant(stats->dueAt.value_or(WallTime{})));
    CHECK(!row.getColumn(7).isNull() == stats->inFlight);
    CHECK(row.getColumn(8).isNull());
    CHECK(row.getColumn(9).isNull());
  }
  CHECK(rows == reader.sessions({}, 100, 0).sessions.size());
}

TEST_CASE("ackbox_peers_view names the state as the reader does") {
  StoreWorld world;
  auto store = world.open();
  const SQLite::Database database(world.file.string(), SQLite::OPEN_READWRITE);
  const store::sqlite::SqliteReader reader(world.file, world.options);
  for (const char* change :
       {"down=0", "down=1, failures=3, next_probe_at_ms=1700000000123, last_error='refused', changed_at_ms=5", "hold=1",
        "hold=2", "paused_at_ms=1700000000999"}) {
    SQLite::Database writer(world.file.string(), SQLite::OPEN_READWRITE);
    writer.exec(std::string("UPDATE ackbox_peers SET ") + change);
    SQLite::Statement row(database, "SELECT peer,state,since,failures,next_probe_at,last_error FROM ackbox_peers_view");
    REQUIRE(row.executeStep());
    const PeerStatus status = reader.peers().front().status;
    CHECK(text(row.getColumn(0)) == status.name);
    CHECK(text(row.getColumn(1)) == toString(status.state));
    CHECK(text(row.getColumn(2)) == instant(status.since));
    CHECK(row.getColumn(3).getUInt() == status.failures);
    CHECK(text(row.getColumn(4)) == instant(status.nextProbeAt));
    CHECK(text(row.getColumn(5)) == orNull(status.lastError));
  }
}

TEST_CASE("the inbound views show a deferred frame, one that waits behind it, and marks, also of a mailbox") {
  StoreWorld world;
  auto store = world.open();
  InboundFrame frame;
  frame.id = "frame";
  frame.source = "urn:peer";
  frame.type = "test";
  frame.data = R"(["ä"])";
  frame.time = WallTime(std::chrono::milliseconds(1'700'000'000'005));
  store::InboundIdentity identity;
  identity.source = frame.source;
  identity.id = frame.id;
  const store::KeptSession mailed("urn:box", "");
  inTransaction(*store, [&] {
    store->inboundMarks().markAccepted(identity, 0, {kLater, kLater});
    identity.session = mailed.name();
    store->inboundMarks().markAccepted(identity, 0, {kLater, kLater});
    store->inbox().add(frame, true);
    frame.id = "behind";
    store->inbox().add(frame, false);
  });
  const SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement row(database,
                        "SELECT message_id,state,source,session,data,enqueued_at,accepted_at,due_at,was_deferred FROM "
                        "ackbox_inbox_messages ORDER BY row_id");
  REQUIRE(row.executeStep());
  CHECK(text(row.getColumn(0)) == "frame");
  CHECK(text(row.getColumn(1)) == "WAITING");
  CHECK(row.getColumn(8).getInt() == 1);
  CHECK(text(row.getColumn(2)) == "urn:peer");
  CHECK(text(row.getColumn(3)) == "NULL");
  CHECK(text(row.getColumn(4)) == frame.data);
  CHECK(text(row.getColumn(5)) == "2023-11-14T22:13:20.005Z");
  CHECK(text(row.getColumn(6)) == instant(world.clock->wallNow()));
  CHECK(text(row.getColumn(7)) == "NULL");
  REQUIRE(row.executeStep());
  CHECK(text(row.getColumn(1)) == "WAITING");
  CHECK(row.getColumn(8).getInt() == 0);
  CHECK_FALSE(row.executeStep());
  row.reset();
  // The views know SQLite's clock alone.
  const store::InboxRetry failed{1, systemClock()->wallNow() + kLater, "no"};
  inTransaction(*store, [&] { store->inbox().retry({&failed, 1}); });
  REQUIRE(row.executeStep());
  CHECK(text(row.getColumn(1)) == "BACKOFF");
  row.reset();
  constexpr store::InboxKey kSecond = 2;
  REQUIRE(inTransaction(*store,
                        [&] {
                          return store->inbox().claim({&kSecond, 1}, kLater);
                        })
              .front()
              .kind == store::InboxClaim::Kind::taken);
  REQUIRE(row.executeStep());
  REQUIRE(row.executeStep());
  CHECK(text(row.getColumn(1)) == "RUNNING");
  row.reset();
  // Of its application, as the first line that fits says; what is in backoff stays so.
  const auto secondState = [&](const std::vector<ackbox::Application>& applications) {
    inTransaction(*store, [&] { store->inbox().noteApplications(applications); });
    REQUIRE(row.executeStep());
    CHECK(text(row.getColumn(1)) == "BACKOFF");
    REQUIRE(row.executeStep());
    const std::string state = text(row.getColumn(1));
    row.reset();
    return state;
  };
  const WallTime away = world.clock->wallNow();
  CHECK(secondState({{"other", std::nullopt, ""}, {"te*", away, "a stream"}}) == "UNATTENDED");
  CHECK(secondState({{"test", std::nullopt, ""}, {"*", away, "a stream"}}) == "RUNNING");
  CHECK(secondState({{"tes", away, "a stream"}, {"test.*", away, "a stream"}}) == "RUNNING");
  SQLite::Statement mark(database,
                         "SELECT message_id,source,processed_at,keep_until FROM "
                         "ackbox_processed_messages_view");
  REQUIRE(mark.executeStep());
  CHECK(text(mark.getColumn(0)) == "frame");
  CHECK(text(mark.getColumn(1)) == "urn:peer");
  CHECK(text(mark.getColumn(2)) == instant(world.clock->wallNow()));
  CHECK(text(mark.getColumn(3)) == instant(world.clock->wallNow() + kLater));
  REQUIRE(mark.executeStep());
  CHECK(text(mark.getColumn(0)) == "frame");
}

TEST_CASE("the views follow the table prefix, and read with functions of untrusted schemas refused") {
  StoreWorld world;
  world.options.tablePrefix = "mine_";
  auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
  database.exec("PRAGMA trusted_schema=OFF");
  for (const char* view :
       {"messages", "dead_letters", "sessions_view", "peers_view", "processed_messages_view", "inbox_messages"}) {
    SQLite::Statement rows(database, std::string("SELECT * FROM mine_") + view);
    CHECK_NOTHROW(rows.executeStep());
  }
}

TEST_CASE("an instant that is set is no NULL: beyond the years of the format it is shown as their first or last") {
  StoreWorld world;
  auto store = world.open();
  const WallTime last = *parseTimestamp("9999-12-31T23:59:59.999Z");
  const WallTime first = *parseTimestamp("0000-01-01T00:00:00.000Z");
  constexpr std::chrono::milliseconds kMoment{1};
  const std::vector<WallTime> instants = {WallTime{}, WallTime::max(), last + kMoment,    last,
                                          first,      first - kMoment, WallTime{kMoment}, WallTime::min()};
  for (const WallTime time : instants) {
    Frame frame = frameOf("s");
    frame.notBefore = time;
    frame.expiresAt = time;
    enqueueOne(*store, frame);
  }
  enqueueOne(*store, frameOf("s"));
  const SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement row(database, "SELECT not_before,expires_at,due_at FROM ackbox_messages ORDER BY row_id");
  for (const WallTime time : instants) {
    REQUIRE(row.executeStep());
    // A delay that is over when the message is enqueued is none.
    const std::string delay = time > world.clock->wallNow() ? formatTimestamp(time) : "NULL";
    CHECK(text(row.getColumn(0)) == delay);
    CHECK(text(row.getColumn(1)) == formatTimestamp(time));
    CHECK(text(row.getColumn(2)) == delay);
  }
  REQUIRE(row.executeStep());
  CHECK(row.getColumn(0).isNull());
  CHECK(row.getColumn(1).isNull());
  CHECK(row.getColumn(2).isNull());
}

TEST_CASE("verify names a view that is missing or another one, and the next opening makes it anew") {
  StoreWorld world;
  world.open();
  const auto findings = [&] {
    std::vector<std::string> texts;
    for (const Finding& finding : store::sqlite::verify(world.file, world.options).findings) {
      texts.push_back(finding.table + ": " + finding.problem);
    }
    return texts;
  };
  CHECK(findings().empty());
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE)
      .exec(
          "DROP VIEW ackbox_messages; DROP VIEW ackbox_dead_letters;"
          "CREATE VIEW ackbox_dead_letters AS SELECT 'nothing here' AS message_id");
  CHECK(findings() ==
        std::vector<std::string>{
            "ackbox_messages: the view is missing; the next opening for writing makes it",
            "ackbox_dead_letters: it is not the view that ackbox makes; the next opening for writing makes it"});
  // Nothing is written by who only reads.
  const store::sqlite::SqliteReader reader(world.file, world.options);
  CHECK(findings().size() == 2);
  // What is there already is no creation of tables.
  world.options.createSchema = false;
  const auto store = world.open();
  CHECK(findings().empty());
  enqueueOne(*store, frameOf("s"));
  SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("SELECT state FROM ackbox_messages").getString() == "PENDING");
}

TEST_CASE("views that are as they should be are not made again: the schema stays as it is") {
  StoreWorld world;
  world.open();
  const auto schemaVersion = [&] {
    return SQLite::Database(world.file.string()).execAndGet("PRAGMA schema_version").getInt();
  };
  const int before = schemaVersion();
  world.open();
  world.options.tablePrefix = "ACKBOX_";
  world.open();
  CHECK(schemaVersion() == before);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("another program reads them: python3 with its own sqlite3 module") {
  Filled filled;
  const std::string command =
      "python3 -c \"import sqlite3, sys\n"
      "with sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True) as file:\n"
      "  for row in file.execute('SELECT state, count(*) FROM ackbox_messages GROUP BY 1 ORDER BY 1'): print(*row)\n"
      "  for name in ('dead_letters', 'sessions_view', 'peers_view', 'processed_messages_view', 'inbox_messages'):\n"
      "    file.execute('SELECT * FROM ackbox_' + name).fetchall()\n"
      "\" '" +
      filled.world.file.string() + "' 2>&1";
  std::string printed;
  FILE* const program = ::popen(command.c_str(), "r");
  REQUIRE(program != nullptr);
  for (int byte = std::fgetc(program); byte != EOF; byte = std::fgetc(program)) {
    printed += static_cast<char>(byte);
  }
  CHECK_MESSAGE(::pclose(program) == 0, printed);
  CHECK(printed == "ACKED 1\nFAILED 9\nPENDING 3\nSENDING 2\nSENT 1\n");
}

}  // namespace

}  // namespace sql_views_test
