// Goal: what the tool prints, in both forms, and what it ends with, change only when someone means it.
// Method: commands on a file with messages in several states and a clock that stands still; the transcripts are
// compared with golden/. Scripts rely on the --json ones: a key there is never renamed.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/scripted_sender.hpp"
#include "unit/cli/tool_stage.hpp"

namespace ackbox::transcripts_test {
namespace {

using testing::ScriptedSender;
using testing::ToolResult;
using testing::ToolStage;

TEST_CASE("help, manual page and completions are made from the grammar") {
  ToolStage stage;
  stage.play({"--help"});
  stage.play({"list", "--help"});
  stage.play({"inbox-discard", "--help"});
  stage.checkGolden("help.txt");
  testing::checkGolden("ackbox.1", stage.run({"man"}).out);
  for (const char* shell : {"bash", "zsh", "fish"}) {
    testing::checkGolden("completion." + std::string(shell), stage.run({"completion", shell}).out);
  }
}

TEST_CASE("what people read") {
  ToolStage stage;
  stage.play({"stats", "@"});
  stage.play({"peers", "@"});
  stage.play({"sessions", "@"});
  stage.play({"sessions", "@", "--all", "--peer", "bob"});
  stage.play({"list", "@"});
  stage.play({"list", "@", "--state", "failed"});
  stage.play({"list", "@", "--peer", "bob", "--session", "orders", "--limit", "1"});
  stage.play({"list", "@", "--peer", "bob", "--session", "orders", "--after", "4"});
  stage.play({"list", "@", "--session", "none"});
  stage.play({"list", "@", "--type", "order.placed", "--limit", "1"});
  stage.play({"list", "@", "--type", "order.gone"});
  stage.play({"show", "@", "dead-1"});
  stage.play({"show", "@", "pending-2"});
  stage.play({"show", "@", "gone"});
  stage.play({"explain", "@", "dead-1"});
  stage.play({"explain", "@", "pending-2"});
  stage.play({"explain", "@", "gone"});
  stage.play({"verify", "@"});
  stage.checkGolden("reading.txt");
}

TEST_CASE("what programs read") {
  ToolStage stage;
  for (const char* command : {"stats", "peers", "sessions", "list", "verify", "export", "top"}) {
    CHECK(stage.play({command, "@", "--json"}).code == 0);
  }
  stage.play({"show", "@", "dead-1", "--json"});
  stage.play({"explain", "@", "pending-2", "--json"});
  stage.play({"vacuum", "@", "--json"});
  stage.play({"show", "@", "gone", "--json"});
  stage.play({"retry", "@", "dead-1", "pending-1", "--json"});
  stage.play({"mark-failed", "@", "pending-1", "--json"});
  stage.play({"discard", "@", "--all", "--json"});
  stage.play({"discard", "@", "--all", "--yes", "--json"});
  stage.play(
      {"enqueue", "@", "--json"},
      {.in = "{\"peer\":\"bob\",\"type\":\"t\",\"id\":\"new\"}\n{\"peer\":\"bob\",\"type\":\"t\",\"id\":\"new\"}\n"
             "nonsense\n{\"peer\":\"dave\",\"type\":\"t\"}\n"});
  stage.checkGolden("json.txt");
}

TEST_CASE("what the log says, from the level on that is asked for") {
  ToolStage stage;
  stage.play({"retry", "@", "dead-1"});
  stage.play({"mark-failed", "@", "pending-1", "--log", "info"});
  stage.play({"mark-failed", "@", "pending-2", "--log", "warning"});
  stage.play({"mark-failed", "@", "dead-1", "--log", "debug", "--json"});
  stage.play({"pause", "@", "bob", "--log", "error"});
  stage.play({"pause", "@", "bob", "--log", "loud"});
  stage.play({"stats", "@", "--log", "info"});
  stage.checkGolden("log.txt");
}

TEST_CASE("messages that wait become dead letters by a filter, after a preview") {
  ToolStage stage;
  stage.play({"mark-failed", "@"});
  stage.play({"mark-failed", "@", "pending-1", "--peer", "bob"});
  stage.play({"mark-failed", "@", "pending-1", "--dry-run", "--reason", "x"});
  stage.play({"mark-failed", "@", "--peer", "bob", "--dry-run"});
  stage.play({"mark-failed", "@", "--peer", "bob"});
  stage.play({"mark-failed", "@", "--state", "sent", "--yes", "--reason", "not-needed"});
  stage.play({"mark-failed", "@", "--all", "--yes", "--json"});
  stage.play({"mark-failed", "@", "--peer", "rob", "--yes"});
  stage.play({"list", "@", "--state", "failed"});
  stage.checkGolden("marking.txt");
}

TEST_CASE("what operators change") {
  ToolStage stage;
  stage.play({"retry", "@"});
  stage.play({"retry", "@", "dead-1", "--all"});
  stage.play({"retry", "@", "dead-1"});
  stage.play({"retry", "@", "dead-1", "nobody"});
  stage.play({"mark-failed", "@", "dead-1", "pending-1", "deferred", "--reason", "by-hand"});
  stage.play({"list", "@", "--state", "failed"});
  stage.play({"list", "@", "--reason", "by-hand"});
  stage.play({"list", "@", "--error", "lamps", "--json"});
  stage.play({"list", "@", "--error", "lamps", "--state", "pending"});
  stage.play({"list", "@", "--state", "failed", "--error", "another"});
  stage.play({"retry", "@", "--error", "lamps", "--dry-run"});
  stage.play({"retry", "@", "dead-1", "--dry-run"});
  stage.play({"retry", "@", "--reason", "by-hand", "--dry-run"});
  stage.play({"retry", "@", "--type", "none", "--dry-run"});
  stage.play({"discard", "@", "--all", "--dry-run", "--json"});
  stage.play({"retry", "@", "--reason", "by-hand", "--session", "invoices"});
  stage.play({"discard", "@", "--older-than", "1h"});
  stage.play({"discard", "@", "--peer", "bob"});
  stage.play({"discard", "@", "--peer", "bob", "--yes"});
  stage.play({"discard", "@", "dead-1"});
  stage.play({"discard", "@", "dead-1"});
  stage.play({"verify", "@"});
  stage.checkGolden("changing.txt");
}

TEST_CASE("acknowledged messages that were kept are counted, and sent once more when --yes is said") {
  ToolStage stage;
  stage.play({"list", "@", "--state", "acked", "--since", "1h"});
  stage.play({"list", "@", "--since", "2023-11-14T22:13:20Z", "--before", "1m", "--json", "--limit", "1"});
  stage.play({"list", "@", "--since", "1h", "--error", "lamps"});
  stage.play({"list", "@", "--newest", "--limit", "2"});
  stage.play({"list", "@", "--newest", "--limit", "2", "--after", "4", "--json"});
  stage.play({"list", "@", "--since", "yesterday"});
  stage.play({"resend", "@", "--all", "--dry-run"});
  stage.deliverAndKeep();
  stage.play({"resend", "@"});
  stage.play({"resend", "@", "--peer", "bob", "--dry-run"});
  stage.play({"resend", "@", "--before", "7d", "--dry-run", "--json"});
  stage.play({"resend", "@", "--peer", "bob"});
  stage.play({"resend", "@", "--peer", "bob", "--yes"});
  stage.play({"resend", "@", "--peer", "bob", "--yes"});
  stage.play({"resend", "@", "pending-1", "nobody"});
  stage.deliverAndKeep();
  stage.play({"resend", "@", "pending-1"});
  stage.play({"list", "@", "--peer", "bob", "--session", "orders"});
  stage.play({"resend", "@", "--peer", "rob", "--yes", "--json"});
  stage.deliverAndKeep();
  stage.play({"resend", "@", "--peer", "bob", "--new-ids", "--dry-run"});
  stage.play({"resend", "@", "--peer", "bob", "--new-ids"});
  stage.play({"resend", "@", "pending-1", "nobody", "--new-ids"});
  stage.play({"resend", "@", "pending-1", "--new-ids"});
  stage.play({"resend", "@", "pending-2", "--new-ids", "--json", "--max-pending", "1"});
  stage.play({"resend", "@", "pending-2", "--new-ids", "--json"});
  stage.play({"resend", "@", "--peer", "bob", "--new-ids", "--yes", "--max-pending", "1"});
  stage.play({"resend", "@", "--peer", "bob", "--new-ids", "--yes"});
  stage.play({"list", "@", "--peer", "bob", "--session", "orders"});
  stage.play({"resend", "@", "--to", "carol", "--all"});
  stage.play({"resend", "@", "--to", "carol", "pending-1", "--peer", "bob"});
  stage.play({"resend", "@", "--peer", "bob", "--to", "nobody", "--yes"});
  stage.play({"resend", "@", "--peer", "bob", "--to", "carol", "--dry-run"});
  stage.play({"resend", "@", "--peer", "bob", "--to", "carol"});
  stage.play({"resend", "@", "--peer", "bob", "--to", "carol", "--yes", "--max-pending", "6"});
  stage.play({"resend", "@", "--peer", "bob", "--to", "carol", "--yes"});
  stage.play({"resend", "@", "--peer", "bob", "--to", "carol", "--yes"});
  stage.play({"export", "@", "--state", "failed", "--type", "none"});
  stage.checkGolden("resend.txt");
}

TEST_CASE("what is kept of senders, and what changes by hand leave behind") {
  ToolStage stage;
  stage.play({"senders", "@"});
  SQLite::Database(stage.file(), SQLite::OPEN_READWRITE)
      .exec(
          "INSERT INTO ackbox_processed_messages(id,source,processed_at_ms,keep_until_ms,digest) "
          "VALUES('i','urn:agent:dora',0,1,0); "
          "UPDATE ackbox_counters SET pending=pending+7");
  stage.play({"repair", "@"});
  stage.play({"repair", "@"});
  stage.play({"repair", "@", "--json"});
  stage.play({"senders", "@"});
  stage.play({"senders", "@", "--json"});
  stage.play({"stats", "@"});
  stage.play({"forget", "@", "urn:agent:dora"});
  stage.play({"forget", "@", "urn:agent:dora", "store-1", "--yes"});
  stage.play({"forget", "@", "urn:agent:dora", "--yes"});
  stage.play({"forget", "@", "urn:agent:dora", "--yes", "--json"});
  stage.play({"verify", "@"});
  stage.checkGolden("upkeep.txt");
}

TEST_CASE("P13: an application that settles nothing is named by check, and only by the age that was asked for") {
  ToolStage stage;
  const OutboxManager agent = stage.agent();
  const std::int64_t since =
      (stage.clock().wallNow() - std::chrono::minutes(12)).time_since_epoch() / std::chrono::milliseconds(1);
  SQLite::Database(stage.file(), SQLite::OPEN_READWRITE)
      .exec("UPDATE ackbox_owners SET applications=char(9)||'*'||char(9)||'0'||char(9)||char(9)||'64'||char(9)||" +
            std::to_string(since) + "||char(9)||'the stream of billing for types *'||char(10)");
  const ToolResult named = stage.run({"check", stage.file(), "--failed", "off"});
  CHECK(named.code == 1);
  CHECK(named.out.starts_with(
      "OUTBOX WARNING - the stream of billing for types * has had 64 frames in hand for 12 m and has settled none of "
      "them | "));
  CHECK(named.out.find(" silent_age=720s;300;;0 ") != std::string::npos);
  CHECK(stage.run({"check", stage.file(), "--failed", "off", "--silent-age", "13m,1h"}).code == 0);
  CHECK(stage.run({"check", stage.file(), "--failed", "off", "--silent-age", "off,12m"}).code == 2);
}

TEST_CASE("deferred frames: listed, explained, run again and given up") {
  ToolStage stage;
  const auto rows = [&](const std::string& sql) { SQLite::Database(stage.file(), SQLite::OPEN_READWRITE).exec(sql); };
  stage.play({"inbox", "@"});
  rows(
      "UPDATE ackbox_peers SET agent='urn:agent:bob' WHERE name='bob'; "
      "INSERT INTO ackbox_inbound_origins VALUES('urn:agent:bob','store-1',1,0,1700000000000,1700000000000); "
      "INSERT INTO "
      "ackbox_inbound_sessions(source,origin,session,accepted_sequence,epoch,gaps,updated_at_ms,accepted_id,"
      "accepted_digest) VALUES('urn:agent:bob','store-1','prints',2,1,0,1700000000000,'print-2',0); "
      "INSERT INTO "
      "ackbox_inbox(origin,session,sequence,frame_id,source,epoch,previous_sequence,deferred,owner_id,starts,"
      "retry_count,due_at_ms,started_at_ms,accepted_at_ms,failed_at_ms,last_error,type,data,checksum) VALUES"
      "('store-1','prints',1,'print-1','urn:agent:bob',1,0,1,0,2,2,1700000300000,1700000180000,1700000010000,"
      "1700000190000,'printer ' || char(27) || '[31mon fire','print','{\"page\": 1}',0),"
      "('store-1','prints',2,'print-2','urn:agent:bob',1,1,0,0,0,0,0,0,1700000020000,NULL,NULL,'print','2',0),"
      "('','',0,'twice','urn:agent:dora',1,0,1,0,0,0,0,0,1700000030000,NULL,NULL,'print','3',0),"
      "('','',0,'twice','urn:agent:bob',1,0,1,0,0,0,0,0,1700000040000,NULL,NULL,'print','4',0),"
      "('','',0,'dead','urn:agent:dora',1,0,1,98,1,0,0,1700000180000,1700000050000,NULL,NULL,'print','5',0),"
      "('','',0,'gone-1','urn:agent:dora',1,0,1,0,0,0,0,0,1700000060000,NULL,NULL,'print','6',0); "
      "INSERT INTO ackbox_owners(id,pid,opened_at_ms) VALUES(98,4711,0)");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"inbox"},
           {"inbox", "--state", "backoff"},
           {"inbox", "--source", "urn:agent:dora", "--limit", "1"},
           {"inbox", "--json", "--session", "prints"},
           {"show", "print-1"},
           {"explain", "print-1"},
           {"inbox-show", "print-1"},
           {"inbox-show", "print-1", "--json"},
           {"inbox-show", "twice"},
           {"inbox-show", "nobody"},
           {"inbox-explain", "print-1"},
           {"inbox-explain", "print-2"},
           {"inbox-explain", "print-2", "--json"},
           {"inbox-explain", "dead"},
           {"inbox-explain", "twice", "--source", "urn:agent:dora"},
           {"inbox-explain", "twice", "--source", "urn:agent:eve"},
           {"inbox-retry"},
           {"inbox-retry", "print-1", "--all"},
           {"inbox-retry", "print-1", "nobody"},
           {"inbox-retry", "--session", "prints", "--json"},
           {"inbox-discard", "twice", "--source", "urn:agent:dora", "--reason", "not-printed"},
           {"inbox-discard", "twice", "--source", "urn:agent:dora"},
           {"inbox-explain", "twice", "--source", "urn:agent:dora"},
           {"inbox-discard", "print-1", "--json"},
           {"inbox-show", "print-1"},
           {"inbox-explain", "print-1"},
           {"inbox-discard", "--source", "urn:agent:bob"},
           {"inbox-discard", "--source", "urn:agent:bob", "--yes"},
           {"inbox"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.begin() + 1, "@");
    stage.play(arguments);
  }
  stage.checkGolden("inbox.txt");
}

/// Carol stops answering, and a dead letter stops a session of bob's that may have no gaps.
void bringTrouble(const ToolStage& stage) {
  OutboxOptions options;
  options.sessionPolicies = {{.session = "strict", .gap = GapPolicy::block}};
  OutboxManager agent = stage.agent(options);
  agent.setSender(std::make_shared<ScriptedSender>([](const SendRequest& request) {
    if (request.peer == "carol") {
      SendReport report;
      report.outcome = RequestOutcome::peerUnavailable;
      report.error = "connection refused";
      return report;
    }
    SendReport report = ScriptedSender::all(request, Outcome::ack);
    for (std::size_t index = 0; index < request.frames.size(); ++index) {
      if (request.frames[index].messageId == "stops") {
        report.results[index].outcome = Outcome::term;
        report.results[index].code = "no-such-item";
        report.results[index].detail = "it is not made any more";
      }
    }
    return report;
  }));
  Frame frame;
  frame.type = "order.placed";
  const auto enqueue = [&](const char* peer, const char* session, const char* id) {
    frame.peer = peer;
    frame.session = session;
    frame.id = id;
    agent.enqueue(frame);
  };
  enqueue("bob", "strict", "stops");
  enqueue("carol", "orders", "unheard");
  agent.drainOnce();
  enqueue("bob", "strict", "waits-1");
  enqueue("bob", "strict", "waits-2");
  stage.clock().advance(std::chrono::seconds(30));
}

TEST_CASE("row 11, row 18: circuits, pauses and blocked sessions, and the way on") {
  ToolStage stage;
  stage.play({"blocked", "@"});
  bringTrouble(stage);
  stage.play({"peers", "@"});
  stage.play({"blocked", "@"});
  stage.play({"blocked", "@", "--json"});
  stage.play({"explain", "@", "waits-1"});
  stage.play({"pause", "@", "bob"});
  stage.play({"pause", "@", "bob"});
  stage.play({"pause", "@", "carol", "--session", "orders"});
  stage.play({"peers", "@"});
  stage.play({"peers", "@", "--json"});
  stage.play({"explain", "@", "waits-1"});
  stage.play({"explain", "@", "unheard"});
  stage.play({"resume", "@", "bob"});
  stage.play({"resume", "@", "bob", "--json"});
  stage.play({"resume", "@", "carol"});
  stage.play({"resume", "@", "carol", "--session", "orders", "--json"});
  stage.play({"resume", "@", "carol", "--session", "orders"});
  stage.play({"unblock", "@", "bob", "strict"});
  stage.play({"unblock", "@", "bob", "strict"});
  stage.play({"unblock", "@", "bob", "strict", "--json"});
  stage.play({"explain", "@", "waits-1"});
  stage.play({"pause", "@", "dave"});
  stage.play({"pause", "@", "bob", "--session", ""});
  stage.play({"unblock", "@", "bob"});
  stage.play({"blocked", "@", "--limit", "10001"});
  stage.play({"verify", "@"});
  stage.checkGolden("orders.txt");
}

TEST_CASE("frames from lines: each line stands for itself, and the exit code says that some were refused") {
  ToolStage stage;
  const std::string lines =
      "{\"peer\":\"bob\",\"session\":\"orders\",\"type\":\"t\",\"data\":{\"big\": 12345678901234567890 }}\n"
      "\n"
      "{\"session\":\"s\"}\n"
      "{\"sesion\":\"s\"}\n"
      "{\"peer\":\"dave\"}\n"
      "{\"data\":[1,}\n"
      "{\"data\":[1,2}\n"
      "[]\n"
      "{\"expires_at_ms\":\"soon\"}\n"
      "{\"session\":3}\n"
      "{\"session\":\"last\"}";
  stage.play({"enqueue", "@", "--peer", "carol", "--type", "u"}, {.in = lines});
  stage.play({"list", "@", "--after", "5"});
  stage.play({"enqueue", "@", "--max-pending", "1", "--peer", "bob", "--type", "u"}, {.in = "{}\n"});
  stage.play({"enqueue", "@", "--input", "/nowhere/lines"});
  stage.checkGolden("enqueue.txt");
}

TEST_CASE("what goes wrong") {
  ToolStage stage;
  stage.play({});
  stage.play({"unknown", "@"});
  stage.play({"list", "@", "--state", "lost"});
  stage.play({"top", "@", "--interval", "often"});
  stage.play({"stats", "missing.db"});
  stage.play({"stats", "missing.db", "--json"});
  stage.play({"retry", "missing.db", "a"});
  stage.play({"stats", "@", "--prefix", "other_"});
  stage.play({"retry", "@", "a", "--prefix", "other_"});
  stage.checkGolden("errors.txt");
}

TEST_CASE("top shows rates between two looks, once without a terminal, and over itself on one") {
  ToolStage stage;
  stage.play({"top", "@"});
  stage.play({"top", "@", "--count", "2", "--interval", "2s"});
  const ToolResult live = stage.run({"top", stage.file(), "--count", "2", "--interval", "0ms"}, {.isTerminal = true});
  CHECK(live.out.find("\x1b[H\x1b[J") == 0);
  stage.checkGolden("top.txt");
}

TEST_CASE("P11 P12: what is damaged is exported as such, by code and line, and enqueue takes the others only") {
  for (const char* change :
       {"outbox SET data='{\"x\":9}' WHERE id=(SELECT id FROM ackbox_outbox WHERE message_id='pending-1')",
        "outbox SET type='other' WHERE id=(SELECT id FROM ackbox_outbox WHERE message_id='dead-1')"}) {
    ToolStage stage;
    CHECK(stage.run({"export", stage.file()}).out.find("\"damaged\"") == std::string::npos);
    SQLite::Database(stage.file(), SQLite::OPEN_READWRITE).exec(std::string("UPDATE ackbox_") + change);
    const ToolResult exported = stage.run({"export", stage.file()});
    CHECK(exported.code == 4);
    CHECK(exported.out.find("{\"damaged\":true,\"id\":") != std::string::npos);
    CHECK(exported.err.find("1 message damaged on the disk") != std::string::npos);
    const std::string copy = stage.path("copy.db");
    {
      OutboxOptions options;
      options.peers = {{.name = "bob"}, {.name = "carol"}};
      static_cast<void>(OutboxManager::open(copy, options));
    }
    const ToolResult stored = stage.run({"enqueue", copy}, {.in = exported.out});
    CHECK(stored.code == 5);
    CHECK(stored.err.find("it is damaged") != std::string::npos);
    const auto rowsOf = [](const std::string& file) { return OutboxReader::open(file).verify().messages; };
    CHECK(rowsOf(copy) == rowsOf(stage.file()) - 1);
  }
}

TEST_CASE("an export is what enqueue reads: data byte for byte, ids kept") {
  ToolStage stage;
  const ToolResult exported = stage.run({"export", stage.file(), "--peer", "bob"});
  const std::string copy = stage.path("copy.db");
  {
    OutboxOptions options;
    options.peers = {{.name = "bob"}};
    static_cast<void>(OutboxManager::open(copy, options));
  }
  CHECK(stage.run({"enqueue", copy}, {.in = exported.out}).code == 0);
  const OutboxReader before = OutboxReader::open(stage.file());
  const OutboxReader after = OutboxReader::open(copy);
  for (const char* id : {"deferred", "pending-1"}) {
    REQUIRE(after.frame(id));
    CHECK(after.frame(id)->data == before.frame(id)->data);
    CHECK(after.frame(id)->session == before.frame(id)->session);
  }
}

TEST_CASE("an export is what proto/export.md describes, which the library writes, too; enqueue reads all of it") {
  ToolStage stage;
  Frame whole;
  whole.peer = "bob";
  whole.session = "s";
  whole.type = "test.event";
  whole.id = "whole";
  whole.data = "{\n \"a\": [1.50]}";
  whole.notBefore = WallTime(std::chrono::milliseconds(1'700'000'500'000));
  whole.expiresAt = WallTime(std::chrono::milliseconds(1'700'000'900'007));
  whole.priority = 9;
  whole.supersedeKey = "k";
  whole.traceparent = "00-trace";
  whole.correlationId = "c";
  REQUIRE(stage.agent().enqueue(whole).isNew());
  const OutboxReader reader = OutboxReader::open(stage.file());
  const auto exported = [&](const MessageFilter& filter) {
    std::string lines;
    reader.exportMessages(filter, [&](std::string_view line) { lines += line; });
    return lines;
  };
  const ToolResult tool = stage.run({"export", stage.file()});
  CHECK(tool.out == exported({}));
  CHECK(tool.out.find(R"({"id":"whole","peer":"bob","session":"s","type":"test.event","sequence":"1",)"
                      R"("state":"PENDING","retry_count":0,"enqueued_at":"2023-11-14T22:16:32.000Z",)"
                      R"("due_at":"2023-11-14T22:21:40.000Z","expires_at":"2023-11-14T22:28:20.007Z",)"
                      R"("not_before":"2023-11-14T22:21:40.000Z","priority":9,"supersede_key":"k",)"
                      R"("traceparent":"00-trace","correlation_id":"c","data":{  "a": [1.50]}})") != std::string::npos);
  CHECK(stage.run({"export", stage.file(), "--state", "failed", "--peer", "carol"}).out ==
        exported({.state = MessageState::failed}));
  CHECK(stage.run({"export", stage.file(), "--state", "failed", "--peer", "bob"}).code == 1);

  const std::string copy = stage.path("copy.db");
  {
    OutboxOptions options;
    options.peers = {{.name = "bob"}, {.name = "carol"}};
    static_cast<void>(OutboxManager::open(copy, options));
  }
  CHECK(stage.run({"enqueue", copy}, {.in = tool.out}).code == 0);
  const std::optional<Frame> again = OutboxReader::open(copy).frame("whole");
  REQUIRE(again);
  CHECK(again->notBefore == whole.notBefore);
  CHECK(again->expiresAt == whole.expiresAt);
  CHECK(again->priority == 9);
  CHECK(again->supersedeKey == "k");
  CHECK(again->traceparent == "00-trace");
  CHECK(again->correlationId == "c");
}

}  // namespace
}  // namespace ackbox::transcripts_test
