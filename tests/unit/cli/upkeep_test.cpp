// Goal: what keeps a file well: backup, restore, check, doctor, repair and migrate print what they did and what is left
// to do, end with what scripts and monitoring read, and change nothing when they refuse.
// Method: commands on the stage's file; the transcripts are compared with golden/.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/tls.hpp"
#include "cli/arguments.hpp"
#include "cli/examples.hpp"
#include "cli/exit_code.hpp"
#include "cli/grammar.hpp"
#include "cli/threshold.hpp"
#include "store/sqlite/schema/versions.hpp"
#include "support/garbled_pages.hpp"
#include "support/version_two.hpp"
#include "unit/cli/tool_stage.hpp"

namespace ackbox::upkeep_test {
namespace {

using testing::ToolResult;
using testing::ToolStage;
namespace fs = std::filesystem;

// Ends on 2036-11-22; its key is thrown away.
constexpr const char* kCertificate = R"(-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIUZvN9LN2+DYc672Hqh51xEl6SppcwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFYWdlbnQwHhcNMjYxMTI1MTI1NTIzWhcNMzYxMTIyMTI1NTIz
WjAQMQ4wDAYDVQQDDAVhZ2VudDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHs2
f2Z8OV5a5HByc9BXNBe6kRTjjo1jZnwMyJb5+CsL8lGp2Rp6WN4LWM9ghF1b99hu
Zqi1HBTK7YdS+n/vPaijUzBRMB0GA1UdDgQWBBRZHg/Rx9t+roO1AnUszqAR42XX
PTAfBgNVHSMEGDAWgBRZHg/Rx9t+roO1AnUszqAR42XXPTAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0cAMEQCICxf1mcGLF2nt9TZ31R7BKBmdaEESPZhP+IR
EgunGZEDAiBWXhs8bEDaEOLMm/7J8iWVOMnObzyKt2e0cEl3PEIEtQ==
-----END CERTIFICATE-----
)";

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> namesBeside(const ToolStage& stage) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(stage.file()).parent_path())) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void enqueue(OutboxManager& agent, const std::string& id) {
  Frame frame;
  frame.peer = "bob";
  frame.session = "orders";
  frame.type = "order.placed";
  frame.id = id;
  REQUIRE(agent.enqueue(frame).isNew());
}

void execute(const ToolStage& stage, const std::string& sql) {
  SQLite::Database(stage.file(), SQLite::OPEN_READWRITE).exec(sql);
}

TEST_CASE("a backup is made beside an agent, replaces nothing unasked, and is checked") {
  ToolStage stage;
  {
    OutboxManager agent = stage.agent();
    stage.play({"backup", "@", "@/copy.db"});
    enqueue(agent, "later");
    stage.play({"backup", "@", "@/copy.db"});
    stage.play({"backup", "@", "@/copy.db", "--overwrite", "--json"});
  }
  CHECK(OutboxReader::open(stage.path("copy.db")).find("later"));
  {
    const OutboxManager other = OutboxManager::open(stage.path("other.db"));
    stage.play({"backup", "@", "@/other.db", "--overwrite"});
  }
  CHECK_FALSE(OutboxReader::open(stage.path("other.db")).find("later"));
  // What a process left that was killed.
  write(stage.path("gone.db-wal"), "a log");
  stage.play({"backup", "@", "@/gone.db"});
  CHECK_FALSE(fs::exists(stage.path("gone.db")));
  fs::remove(stage.path("gone.db-wal"));
  stage.play({"backup", "@", "@"});
  stage.play({"backup", "@", "@/nowhere/copy.db"});
  stage.play({"backup", "@/missing.db", "@/copy.db"});
  stage.play({"verify", "@/copy.db"});
  execute(stage, "UPDATE ackbox_counters SET pending=pending+7");
  stage.play({"backup", "@", "@/wrong.db"});
  CHECK_FALSE(fs::exists(stage.path("wrong.db")));
  stage.play({"backup", "@", "@/wrong.db", "--no-verify"});
  CHECK(fs::exists(stage.path("wrong.db")));
  for (const std::string& name : namesBeside(stage)) {
    CHECK(name.find("partial") == std::string::npos);
  }
  stage.checkGolden("backup.txt");
}

TEST_CASE("a restore says what peers will see, keeps the file that is there, and names who is in the way") {
  ToolStage stage;
  stage.run({"backup", stage.file(), stage.path("backup.db")});
  const std::string before = read(stage.file());
  const std::vector<std::string> names = namesBeside(stage);
  {
    const OutboxManager agent = stage.agent();
    stage.play({"restore", "@/backup.db", "@", "--identity", "new"});
  }
  stage.play({"restore", "@/backup.db", "@"});
  stage.play({"restore", "@/backup.db", "@", "--json"});
  stage.play({"restore", "@/backup.db", "@", "--identity", "new", "--dry-run"});
  CHECK(namesBeside(stage).size() >= names.size());
  for (const std::string& name : namesBeside(stage)) {
    CHECK(name.find("before-restore") == std::string::npos);
  }
  const std::string origin = OutboxReader::open(stage.file()).fileInfo().origin;
  stage.play({"restore", "@/backup.db", "@", "--identity", "new"});
  CHECK(OutboxReader::open(stage.file()).fileInfo().origin != origin);
  CHECK(OutboxReader::open(stage.path("agent.db.before-restore-20231114T221632Z")).fileInfo().origin == origin);
  stage.play({"verify", "@"});
  stage.clock().advance(std::chrono::seconds(1));
  stage.play({"restore", "@/backup.db", "@", "--identity", "keep", "--json"});
  CHECK(OutboxReader::open(stage.file()).fileInfo().origin == origin);
  stage.play({"restore", "@", "@", "--identity", "keep"});
  stage.clock().advance(std::chrono::seconds(1));
  stage.play({"restore", "@", "@", "--identity", "new"});
  CHECK(OutboxReader::open(stage.file()).fileInfo().origin != origin);
  stage.checkGolden("restore.txt");
}

TEST_CASE("a restore of what only receives asks nothing, and one that breaks invariants is left where it is") {
  const ToolStage stage;
  const std::string receiver = stage.path("receiver.db");
  {
    OutboxOptions options;
    options.peers = {{.name = "bob"}};
    static_cast<void>(OutboxManager::open(receiver, options));
  }
  const ToolResult done = stage.run({"restore", receiver, stage.path("again.db")});
  CHECK(done.code == 0);
  CHECK(fs::exists(stage.path("again.db")));
  CHECK(done.out.find("PeerResetPolicy") == std::string::npos);
  SQLite::Database(receiver, SQLite::OPEN_READWRITE).exec("UPDATE ackbox_counters SET received=5");
  CHECK(stage.run({"restore", receiver, stage.path("other.db")}).out.find("PeerResetPolicy") != std::string::npos);
  SQLite::Database(receiver, SQLite::OPEN_READWRITE).exec("UPDATE ackbox_counters SET failed=3");
  const ToolResult refused = stage.run({"restore", receiver, stage.path("third.db")});
  CHECK(refused.code == 4);
  CHECK(refused.err.find("nothing was changed") != std::string::npos);
  CHECK_FALSE(fs::exists(stage.path("third.db")));
}

TEST_CASE("two restores within one second keep both files that were there") {
  const ToolStage stage;
  stage.run({"backup", stage.file(), stage.path("backup.db")});
  {
    OutboxManager agent = stage.agent();
    enqueue(agent, "newer");
  }
  const ToolResult first = stage.run({"restore", stage.path("backup.db"), stage.file(), "--identity", "keep"});
  CHECK(first.code == 0);
  CHECK(stage.run({"restore", stage.file(), stage.file(), "--identity", "new"}).code == 0);
  const std::string kept = stage.path("agent.db.before-restore-20231114T221632Z");
  CHECK(OutboxReader::open(kept).find("newer"));
  CHECK_FALSE(OutboxReader::open(kept + "-2").find("newer"));
  CHECK(first.out.find("it is newer") != std::string::npos);
  CHECK(first.out.find("ackbox restore agent.db.before-restore-20231114T221632Z agent.db --identity keep") !=
        std::string::npos);
}

TEST_CASE("a restore refuses a place that is no regular file, or that has one beside it") {
  const ToolStage stage;
  const std::string backup = stage.path("backup.db");
  stage.run({"backup", stage.file(), backup});
  const auto refusal = [&](const std::string& to) {
    const ToolResult result = stage.run({"restore", backup, to, "--identity", "keep"});
    CHECK(result.code == 1);
    return result.err;
  };
  const std::string to = stage.path("to.db");
  fs::create_directory(to);
  CHECK(refusal(to).find("a folder: name the outbox's file") != std::string::npos);
  CHECK(fs::is_directory(to));
  fs::remove(to);
  REQUIRE(mkfifo(to.c_str(), 0600) == 0);
  CHECK(refusal(to).find("a FIFO") != std::string::npos);
  fs::remove(to);
  fs::create_symlink("nowhere", to);
  CHECK(refusal(to).find("a link that leads nowhere") != std::string::npos);
  fs::remove(to);
  REQUIRE(mkfifo((to + "-journal").c_str(), 0600) == 0);
  CHECK(refusal(to).find("to.db-journal is no regular file") != std::string::npos);
  CHECK_FALSE(fs::exists(to));
}

TEST_CASE("neither a backup nor a restore takes the name of a file's log") {
  const ToolStage stage;
  stage.run({"backup", stage.file(), stage.path("backup.db")});
  const OutboxManager agent = stage.agent();
  for (const char* end : {"-wal", "-journal", "-shm", "-ackbox-owners"}) {
    const std::string log = stage.file() + end;
    for (const ToolResult& result : {stage.run({"backup", stage.path("backup.db"), log, "--overwrite"}),
                                     stage.run({"restore", stage.path("backup.db"), log, "--identity", "keep"})}) {
      CHECK(result.code != 0);
      CHECK_MESSAGE(result.err.find("belongs to") != std::string::npos, result.err);
    }
  }
}

TEST_CASE("a restore leaves no log of another file beside the one that it puts there") {
  const ToolStage stage;
  stage.run({"backup", stage.file(), stage.path("backup.db")});
  const std::string to = stage.path("to.db");
  for (const char* end : {"-wal", "-journal", "-shm"}) {
    write(to + end, end);
  }
  const ToolResult result = stage.run({"restore", stage.path("backup.db"), to, "--identity", "keep"});
  CHECK(result.code == 0);
  for (const char* end : {"-wal", "-journal", "-shm"}) {
    CHECK_FALSE(fs::exists(to + end));
    CHECK(read(to + ".before-restore-20231114T221632Z" + end) == end);
  }
}

TEST_CASE("a restore that was interrupted leaves an outbox, and the next one ends it") {
  const ToolStage stage;
  stage.run({"backup", stage.file(), stage.path("backup.db")});
  {
    OutboxManager agent = stage.agent();
    enqueue(agent, "newer");
  }
  const std::string kept = stage.file() + ".before-restore-20200101T000000Z";
  SUBCASE("after the file and the link have changed places") {
    fs::rename(stage.file(), kept);
    fs::create_symlink(fs::path(kept).filename(), stage.file());
    write(stage.file() + "-journal", "nobody's");
    CHECK(OutboxReader::open(stage.file()).find("newer"));
    CHECK(stage.run({"doctor", stage.file()}).out.find("a restore was interrupted") != std::string::npos);
    CHECK(stage.run({"restore", stage.path("backup.db"), stage.file(), "--identity", "keep"}).code == 0);
    CHECK(fs::is_regular_file(fs::symlink_status(stage.file())));
    CHECK(read(stage.file() + ".before-restore-20231114T221632Z-journal") == "nobody's");
  }
  SUBCASE("where the file system has no links, after the file was moved") {
    fs::rename(stage.file(), kept);
    write(kept + "-wal", "");
    const ToolResult told = stage.run({"stats", stage.file()});
    CHECK(told.code == 3);
    const std::string name = "agent.db.before-restore-20200101T000000Z";
    CHECK(told.err.find("mv -n " + name + "-wal agent.db-wal && mv -n " + name + " agent.db") != std::string::npos);
    CHECK_FALSE(fs::exists(stage.file() + "-wal"));
  }
  CHECK(OutboxReader::open(kept).find("newer"));
}

TEST_CASE("an interrupted restore is ended with its own file from before, and no backup takes its place") {
  const ToolStage stage;
  const std::string kept = stage.file() + ".before-restore-20200101T000000Z";
  fs::rename(stage.file(), kept);
  fs::create_symlink(fs::path(kept).filename(), stage.file());
  const ToolResult refused = stage.run({"backup", kept, stage.file(), "--overwrite"});
  CHECK(refused.code != 0);
  const std::string other = stage.path("other.db");
  CHECK(stage.run({"backup", kept, other}).code == 0);
  CHECK(stage.run({"backup", other, stage.file(), "--overwrite"}).err.find("a restore was interrupted there") !=
        std::string::npos);
  CHECK(stage.run({"restore", kept, stage.file(), "--identity", "keep"}).code == 0);
  CHECK(fs::is_regular_file(fs::symlink_status(stage.file())));
  CHECK(fs::is_regular_file(fs::symlink_status(kept)));
}

TEST_CASE("a backup that overwrites a link replaces what it leads to") {
  const ToolStage stage;
  const std::string target = stage.path("target.db");
  const std::string link = stage.path("link.db");
  write(target, "old");
  fs::create_symlink("target.db", link);
  CHECK(stage.run({"backup", stage.file(), link}).code == 1);
  CHECK(stage.run({"backup", stage.file(), link, "--overwrite"}).code == 0);
  CHECK(fs::is_symlink(fs::symlink_status(link)));
  CHECK(read(target).starts_with("SQLite format 3"));
}

TEST_CASE("an empty path is refused by its name") {
  const ToolStage stage;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"verify", ""},
                                             {"stats", ""},
                                             {"backup", stage.file(), ""},
                                             {"restore", stage.file(), ""},
                                             {"doctor", stage.file(), "--certificate", ""},
                                             {"serve", ""}}) {
    const ToolResult result = stage.run(words);
    CHECK(result.code == 2);
    CHECK_MESSAGE(result.err.find("it is empty: name a file") != std::string::npos, result.err);
  }
}

TEST_CASE("a file whose numbers are used up is no full disk") {
  const ToolStage stage;
  execute(stage, "UPDATE sqlite_sequence SET seq=9223372036854775807 WHERE name='ackbox_owners'");
  const ToolResult owners = stage.run({"retry", stage.file(), "--all"});
  CHECK_MESSAGE(owners.err.find("sqlite_sequence leaves no number for a new row of ackbox_owners") != std::string::npos,
                owners.err);
  CHECK(owners.err.find("full") == std::string::npos);
  CHECK(stage.run({"repair", stage.file()}).code == 0);
  execute(stage, "UPDATE ackbox_counters SET last_key=9223372036854775807");
  const ToolResult keys = stage.run({"retry", stage.file(), "--all"});
  CHECK_MESSAGE(keys.err.find("leaves no number for the next message") != std::string::npos, keys.err);
  CHECK(stage.run({"repair", stage.file()}).code == 0);
  CHECK(stage.run({"verify", stage.file()}).code == 0);
}

TEST_CASE("what a killed backup or restore left is deleted by the next one to the same place") {
  const ToolStage stage;
  const pid_t ended = fork();
  if (ended == 0) {
    _exit(0);
  }
  waitpid(ended, nullptr, 0);
  const std::string left = stage.path("copy.db.partial-" + std::to_string(ended));
  const std::string running = stage.path("copy.db.partial-" + std::to_string(getppid()));
  for (const std::string& name : {left, left + "-wal", left + "-ackbox-owners", running}) {
    write(name, "");
  }
  CHECK(stage.run({"backup", stage.file(), stage.path("copy.db")}).code == 0);
  CHECK_FALSE(fs::exists(left));
  CHECK_FALSE(fs::exists(left + "-wal"));
  CHECK_FALSE(fs::exists(left + "-ackbox-owners"));
  CHECK(fs::exists(running));
}

TEST_CASE("no command waits for a FIFO that has the name of a log") {
  const ToolStage stage;
  for (const char* end : {"-wal", "-journal", "-shm"}) {
    const std::string fifo = stage.file() + end;
    fs::remove(fifo);
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    CHECK(stage.run({"check", stage.file()}).out.find(std::string(end) + " is no regular file") != std::string::npos);
    CHECK(stage.run({"doctor", stage.file()}).out.find(std::string(end) + " is no regular file") != std::string::npos);
    CHECK(stage.run({"discard", stage.file(), "x"}).code == 3);
    fs::remove(fifo);
  }
}

TEST_CASE("check: one line and an exit status that monitoring reads") {
  ToolStage stage;
  stage.play({"check", "@", "--failed", "off"});
  stage.play({"check", "@"});
  stage.play({"check", "@", "--json"});
  stage.play({"check", "@", "--failed", "1,1", "--oldest-age", "1m,1h"});
  stage.play({"check", "@", "--failed", "off", "--pending", "off,3"});
  stage.play({"check", "@", "--failed", "off", "--pending-bytes", "1,1KiB"});
  stage.setDisk({500ULL << 20, 0});
  stage.play({"check", "@", "--failed", "off"});
  stage.setDisk({5ULL << 20, 0});
  stage.play({"check", "@", "--failed", "off"});
  stage.setDisk({8ULL << 30, 0});
  execute(stage, "UPDATE ackbox_peers SET down=1,down_since_ms=1 WHERE name='carol'");
  stage.play({"check", "@", "--failed", "off"});
  stage.play({"check", "@", "--failed", "off", "--peers-away", "2"});
  execute(stage, "UPDATE ackbox_peers SET hold=1, last_error='HTTP 404' WHERE name='carol'");
  stage.play({"check", "@", "--failed", "off"});
  stage.play({"check", "@", "--failed", "5,2"});
  stage.play({"check", "@", "--free-disk", "1MiB,2MiB"});
  stage.play({"check", "@", "--failed", "many"});
  stage.play({"check", "@", "--nonsense"});
  stage.play({"check"});
  stage.play({"check", "--json"});
  stage.play({"check", "@/missing.db"});
  stage.play({"check", "@/missing.db", "--json"});
  stage.play({"check", "@", "--prefix", "other_"});
  stage.checkGolden("check.txt");
}

TEST_CASE("a threshold is a pair of values, of which each may be off") {
  const auto parsed = [](const char* text) { return cli::parseThreshold(text, cli::parseBytes); };
  CHECK(parsed("1,2KiB")->critical == 2'048U);
  CHECK(parsed("3")->warning == 3U);
  CHECK_FALSE(parsed("3")->critical);
  CHECK_FALSE(parsed("off,1")->warning);
  CHECK(parsed("1TiB")->warning == 1ULL << 40);
  for (const char* wrong : {"", ",", "1,", ",1", "x", "1,2,3", "-1", "1 ", "1kB", "99999999999999999TiB"}) {
    CHECK_MESSAGE(!parsed(wrong), wrong);
  }
  CHECK(cli::parseThreshold("10m,1h", cli::parseMilliseconds)->warning == 600'000U);
}

TEST_CASE("doctor: what it looked at, and what to do") {
  ToolStage stage;
  stage.play({"doctor", "@"});
  stage.play({"doctor", "@", "--json"});
  write(stage.path("certificate.pem"), kCertificate);
  {
    const OutboxManager agent = stage.agent();
    stage.play({"doctor", "@", "--certificate", "@/certificate.pem"});
  }
  execute(stage, "UPDATE ackbox_peers SET down=1,hold=2,last_error='HTTP 410' WHERE name='carol'");
  stage.setDisk({100ULL << 20, 0x6969});
  chmod(stage.file().c_str(), 0644);
  stage.clock().step(-std::chrono::hours(1));
  link(stage.file().c_str(), stage.path("second name").c_str());
  stage.play({"doctor", "@", "--certificate", "@/missing.pem"});
  stage.play({"doctor", "@", "--prefix", "other_"});
  stage.setDisk({100ULL << 20, 0x01021994});
  stage.play({"doctor", "@"});
  stage.play({"doctor", "@/missing.db"});
  stage.checkGolden("doctor.txt");
}

TEST_CASE("P13: garbled pages of messages are critical for check, and a problem for doctor, with what to do") {
  const ToolStage stage;
  {
    OutboxManager agent = stage.agent();
    for (int count = 0; count < 100; ++count) {
      Frame frame;
      frame.peer = "bob";
      frame.type = "lost";
      frame.data = '"' + std::string(1'000, 'x') + '"';
      (void)agent.enqueue(std::move(frame));
    }
  }
  CHECK(stage.run({"check", stage.file()}).code < 2);
  testing::garblePages(stage.file(), "xxxxxxxxxxxxxxxx");
  const ToolResult check = stage.run({"check", stage.file()});
  CHECK(check.code == 2);
  CHECK(check.out.starts_with("OUTBOX CRITICAL - stored messages cannot be read"));
  CHECK(check.out.find("ackbox verify ") != std::string::npos);
  const ToolResult json = stage.run({"check", stage.file(), "--json"});
  CHECK(json.out.find("\"state\":\"critical\"") != std::string::npos);
  const ToolResult doctor = stage.run({"doctor", stage.file()});
  CHECK(doctor.code == cli::kProblems);
  CHECK(doctor.out.find("problem  messages") != std::string::npos);
  CHECK(doctor.out.find("ackbox restore BACKUP") != std::string::npos);
}

TEST_CASE("P13: what an opening found of a file's past is shown by doctor, verify and check, until it is repaired") {
  const ToolStage stage;
  fs::remove(stage.file());
  (void)stage.agent();
  const ToolResult doctor = stage.run({"doctor", stage.file()});
  CHECK(doctor.code == 0);
  CHECK(doctor.out.find("warning  history") != std::string::npos);
  CHECK(doctor.out.find("file-made-anew: the outbox file or its log was missing") != std::string::npos);
  CHECK(stage.run({"verify", stage.file()}).err.find("file-made-anew") != std::string::npos);
  CHECK(stage.run({"verify", stage.file(), "--json"}).out.find("\"notes\":[{\"event\":\"file-made-anew\"") !=
        std::string::npos);
  const ToolResult check = stage.run({"check", stage.file()});
  CHECK(check.code == 1);
  CHECK(check.out.find("file-made-anew at ") != std::string::npos);
  stage.clock().step(std::chrono::hours(24 * 7));
  CHECK(stage.run({"check", stage.file()}).code == 0);
  stage.clock().step(-std::chrono::hours(24 * 7));
  CHECK(stage.run({"repair", stage.file()}).code == 0);
  CHECK(stage.run({"check", stage.file()}).code == 0);
  CHECK(stage.run({"doctor", stage.file()}).out.find("history") == std::string::npos);
}

TEST_CASE("doctor warns of a certificate three weeks before its end, of the first in a chain to end") {
  const ToolStage stage;
  const std::string path = stage.path("chain.pem");
  write(path, std::string("words before it\n") + kCertificate + kCertificate);
  const WallTime ends = certificateEnds(path).value();
  CHECK(ends == std::chrono::sys_days(std::chrono::year(2036) / 11 / 22) + std::chrono::hours(12) +
                    std::chrono::minutes(55) + std::chrono::seconds(23));
  const auto foundAt = [&](WallTime instant) {
    stage.clock().step(std::chrono::duration_cast<std::chrono::milliseconds>(instant - stage.clock().wallNow()));
    const std::string text = stage.run({"doctor", stage.file(), "--certificate", path}).out;
    const std::size_t line = text.rfind('\n', text.find("certificate")) + 1;
    return text.substr(line, text.find(' ', line) - line);
  };
  CHECK(foundAt(ends - std::chrono::hours(24 * 22)) == "ok");
  CHECK(foundAt(ends - std::chrono::hours(24 * 20)) == "warning");
  CHECK(foundAt(ends + std::chrono::hours(1)) == "problem");
}

TEST_CASE("repair: a preview that changes nothing, and what cannot be mended is named") {
  ToolStage stage;
  execute(stage, "UPDATE ackbox_counters SET pending=pending-9");
  const std::uint64_t epoch = OutboxReader::open(stage.file()).fileInfo().epoch;
  stage.play({"repair", "@", "--dry-run"});
  stage.play({"repair", "@", "--dry-run", "--json"});
  CHECK(OutboxReader::open(stage.file()).fileInfo().epoch == epoch);
  stage.play({"verify", "@"});
  stage.play({"repair", "@"});
  execute(stage, "UPDATE ackbox_sessions SET priority=77 WHERE name='orders'");
  stage.play({"repair", "@"});
  execute(stage, "UPDATE ackbox_outbox SET state=9 WHERE state=4");
  stage.play({"repair", "@"});
  stage.play({"repair", "@", "--json"});
  stage.play({"repair", "@", "--dry-run"});
  stage.checkGolden("repair.txt");
}

TEST_CASE("migrate: the version of the tables; a newer one is named with its release, an earlier one is brought up") {
  ToolStage stage;
  stage.play({"migrate", "@"});
  stage.play({"migrate", "@", "--json"});
  execute(stage, "UPDATE ackbox_schema SET version=2, written_by='2.0.0'");
  stage.play({"migrate", "@"});
  stage.play({"stats", "@"});
  stage.play({"retry", "@", "--all", "--json"});
  stage.play({"doctor", "@"});
  execute(stage, "UPDATE ackbox_schema SET version=1, written_by='0.1.0'");
  const store::sqlite::SchemaInPlace two(testing::versionTwo());
  stage.play({"stats", "@"});
  stage.play({"doctor", "@"});
  stage.play({"migrate", "@", "--dry-run"});
  stage.play({"migrate", "@", "--dry-run", "--json"});
  std::filesystem::copy_file(stage.file(), stage.path("json.db"));
  stage.play({"migrate", "@"});
  stage.play({"migrate", "@"});
  stage.play({"verify", "@"});
  {
    SQLite::Database user(stage.path("json.db"), SQLite::OPEN_READWRITE);
    static_cast<void>(user.execAndGet("SELECT version FROM ackbox_schema"));
    const ToolResult refused = stage.run({"migrate", stage.path("json.db")});
    CHECK(refused.code == cli::kNothing);
    CHECK(refused.err.find("is open in process") != std::string::npos);
  }
  stage.play({"migrate", "@/json.db", "--json"});
  stage.checkGolden("migrate.txt");
}

TEST_CASE(
    "move: what is no database is refused, and so is a file that is open; a file that was moved names its database") {
  ToolStage stage;
  stage.play({"move", "@", "orders"});
  stage.play({"move", "postgres://db.example/orders", "postgres://db.example/orders"});
  {
    SQLite::Database user(stage.file(), SQLite::OPEN_READWRITE);
    static_cast<void>(user.execAndGet("SELECT version FROM ackbox_schema"));
    const ToolResult refused = stage.run({"move", stage.file(), "postgres:///orders?host=/nowhere"});
    CHECK(refused.code == cli::kNothing);
    CHECK(refused.err.find("is open in process") != std::string::npos);
  }
  // A program without PostgreSQL, and one whose server is out of reach, leave the file as it was.
  CHECK(stage.run({"move", stage.file(), "postgres:///orders?host=/nowhere"}).code == cli::kCannot);
  stage.play({"stats", "@"});
  execute(stage,
          "CREATE TABLE ackbox_moved(database,name,is_complete,at_ms);INSERT INTO ackbox_moved VALUES('7/1',"
          "'postgres://db.example/orders',1,0)");
  for (const char* command : {"stats", "enqueue", "verify", "doctor", "check", "migrate"}) {
    stage.play({command, "@"});
  }
  stage.checkGolden("move.txt");
}

TEST_CASE("--json is understood before the command and after it") {
  ToolStage stage;
  const ToolResult after = stage.run({"stats", stage.file(), "--json"});
  const ToolResult before = stage.run({"--json", "stats", stage.file()});
  CHECK(before.code == 0);
  CHECK(before.out == after.out);
  stage.play({"--json", "list", "@/missing.db"});
  stage.play({"--json", "nothing", "@"});
  stage.play({"--json"});
  stage.checkGolden("json_first.txt");
}

TEST_CASE("each command on a file shows an example with its name") {
  const ToolStage stage;
  cli::Arguments arguments;
  const auto grammar = cli::makeGrammar(arguments);
  int commands = 0;
  for (const CLI::App* command : grammar->get_subcommands([](const CLI::App*) { return true; })) {
    const std::string name = command->get_name();
    if (name != "completion" && name != "man") {
      ++commands;
      CHECK(std::string(cli::exampleOf(name)).starts_with("ackbox " + name + " "));
      CHECK(stage.run({name, "--help"}).out.find("Example:\n  ackbox " + name + " ") != std::string::npos);
    }
  }
  CHECK(commands > 25);
}

}  // namespace
}  // namespace ackbox::upkeep_test
