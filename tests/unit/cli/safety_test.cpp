// Goal: the tool harms neither the file, nor the agent that runs on it, nor the terminal of who looks.
// Method: names and data full of escape sequences; an agent that has the file open; files that are no outbox.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/scripted_sender.hpp"
#include "unit/cli/tool_stage.hpp"

namespace ackbox::safety_test {
namespace {

using testing::ScriptedSender;
using testing::ToolResult;
using testing::ToolStage;
namespace fs = std::filesystem;

bool isHarmless(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char character) {
                        const auto byte = static_cast<unsigned char>(character);
                        return (byte < 0x20 && character != '\n') || byte == 0x7f;
                      }) &&
         text.find("\xc2\x9b") == std::string::npos && text.find("\xe2\x80\xae") == std::string::npos;
}

TEST_CASE("P11: whatever stands in the file cannot steer the terminal of who looks at it") {
  const ToolStage stage;
  {
    SQLite::Database database(stage.file(), SQLite::OPEN_READWRITE);
    // A title, a clear screen, C1 controls, a turned direction, bytes that are no UTF-8.
    const std::string hostile =
        "char(27)||']0;owned'||char(7)||char(27)||'[2J'||char(155)||'31m'||char(8238)||char(127)";
    database.exec("UPDATE ackbox_sessions SET name=id||" + hostile);
    database.exec("UPDATE ackbox_peers SET name=id||" + hostile + ", last_error=" + hostile);
    database.exec("UPDATE ackbox_sessions SET blocked_by=3, blocked_at_ms=1 WHERE name LIKE '3%'");
    database.exec(
        "UPDATE ackbox_outbox SET type=" + hostile + ", reason=" + hostile + ", last_error=" + hostile +
        "||CAST(x'c3ff' AS TEXT), traceparent=" + hostile +
        ", attempt_log=json_array(json_object('first_at_ms',1,'at_ms',1,'count',1,'took_ms',1,'status',500,'outcome'," +
        hostile + ",'error'," + hostile + "))" + ", data='\"'||char(127,155,8238)||'\"'||char(10)");
  }
  for (const char* command : {"stats", "peers", "sessions", "blocked", "list", "export", "top"}) {
    for (const bool json : {false, true}) {
      CAPTURE(command);
      std::vector<std::string> arguments = {command, stage.file()};
      if (json) {
        arguments.emplace_back("--json");
      }
      const ToolResult result = stage.run(arguments, {.noColor = true});
      // Rows that were changed by hand are damaged ones.
      CHECK(result.code == (std::string_view(command) == "export" ? 4 : 0));
      CHECK(isHarmless(result.out));
      CHECK(isHarmless(result.err));
    }
  }
  SQLite::Database(stage.file(), SQLite::OPEN_READWRITE)
      .exec("UPDATE ackbox_peers SET down=1; UPDATE ackbox_schema SET written_by=char(27)||'[2J'||char(8238)");
  for (const char* command : {"check", "doctor", "migrate"}) {
    CHECK(isHarmless(stage.run({command, stage.file()}).out));
    CHECK(isHarmless(stage.run({command, stage.file(), "--json"}).out));
  }
  CHECK(isHarmless(stage.run({"check", stage.file(), "--\x1b[2J"}).out));
  for (const char* command : {"show", "explain"}) {
    CHECK(isHarmless(stage.run({command, stage.file(), "dead-1"}).out));
    CHECK(isHarmless(stage.run({command, stage.file(), "dead-1", "--json"}).out));
    CHECK(isHarmless(stage.run({command, stage.file(), "\x1b[2J"}).err));
  }
  for (const char* command : {"pause", "resume"}) {
    CHECK(isHarmless(stage.run({command, stage.file(), "\x1b[2J"}).err));
  }
  CHECK(isHarmless(stage.run({"enqueue", stage.file()}, {.in = "{\"\x1b[2J\":1}\n"}).err));
}

TEST_CASE("colours are for terminals, and not with NO_COLOR") {
  const ToolStage stage;
  CHECK(stage.run({"list", stage.file()}, {.isTerminal = true}).out.find("\x1b[1m") != std::string::npos);
  CHECK(isHarmless(stage.run({"list", stage.file()}, {.isTerminal = true, .noColor = true}).out));
  CHECK(isHarmless(stage.run({"list", stage.file()}).out));
}

TEST_CASE("neither a missing file nor one of another program is made an outbox") {
  const ToolStage stage;
  const std::string missing = stage.path("missing.db");
  const std::string foreign = stage.path("foreign.db");
  SQLite::Database(foreign, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t(x)");
  for (const std::string& file : {missing, foreign}) {
    for (const char* command : {"stats", "list", "verify", "enqueue"}) {
      CHECK(stage.run({command, file}).code == 3);
    }
    CHECK(stage.run({"retry", file, "--all"}).code == 3);
    CHECK(stage.run({"pause", file, "bob"}).code == 3);
    for (const char* command : {"vacuum", "repair", "migrate", "check"}) {
      CHECK(stage.run({command, file}).code == 3);
    }
    CHECK(stage.run({"repair", file, "--dry-run"}).code == 3);
    CHECK(stage.run({"backup", file, stage.path("copy.db")}).code == 3);
    CHECK(stage.run({"restore", file, stage.path("copy.db")}).code == 3);
    CHECK(stage.run({"discard", file, "--all", "--yes"}).code == 3);
  }
  CHECK_FALSE(fs::exists(missing));
  CHECK_FALSE(fs::exists(stage.path("copy.db")));
  SQLite::Database database(foreign);
  CHECK(database.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 1);
}

TEST_CASE("beside an agent that runs, the tool looks and changes, and the agent delivers what it brought") {
  const ToolStage stage;
  OutboxManager agent = stage.agent();
  CHECK(stage.run({"stats", stage.file()}).out.find("PID") != std::string::npos);
  CHECK(stage.run({"retry", stage.file(), "dead-1"}).code == 0);
  CHECK(stage.run({"enqueue", stage.file()}, {.in = R"({"peer":"bob","type":"t","id":"by-tool"})"}).code == 0);
  const auto sender = ScriptedSender::always(Outcome::ack);
  agent.setSender(sender);
  agent.drainOnce();
  CHECK_FALSE(agent.find("dead-1"));
  CHECK_FALSE(agent.find("by-tool"));
  const std::vector<PeerStats> peers = OutboxReader(agent).peerStats();
  CHECK(peers.size() == 2);
  CHECK(OutboxReader(agent).verify().clean());
}

TEST_CASE("P10: verify ends with 4 when an invariant is broken, and names the row") {
  const ToolStage stage;
  SQLite::Database(stage.file(), SQLite::OPEN_READWRITE).exec("UPDATE ackbox_outbox SET session_id=99 WHERE id=3");
  const ToolResult result = stage.run({"verify", stage.file()});
  CHECK(result.code == 4);
  CHECK(result.out.find("ackbox_outbox") != std::string::npos);
  CHECK(result.out.find("its session is missing") != std::string::npos);
}

}  // namespace
}  // namespace ackbox::safety_test
