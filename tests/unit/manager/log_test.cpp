// Goal: what stops, delays or refuses a message is in the log, once, with its cause, and on standard error where nobody
// asked for a log. Method: the texts and the limit alone; then managers on files, with a sink that keeps what it gets.

#include "ackbox/log.hpp"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/pull.hpp"
#include "manager/log/log.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::log_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ManualClock;
using testing::ScriptedSender;
using testing::TempDir;

/// Keeps records as the lines that a file would have.
class Kept {
public:
  [[nodiscard]] LogSink sink() {
    return [this](const LogRecord& record) {
      const std::scoped_lock lock(mutex_);
      lines_.push_back(toKeyValue(record));
    };
  }
  /// Those of one event.
  [[nodiscard]] std::vector<std::string> of(const std::string& event) {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> found;
    for (const std::string& line : lines_) {
      if (line.find(" " + event + " ") != std::string::npos) {
        found.push_back(line);
      }
    }
    return found;
  }

private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// An outbox, and its log.
struct Logged : testing::OutboxStage {
  Kept kept;
  OutboxManager manager = open({.log = kept.sink()});
};

/// What standard error gets as long as this lives.
class StandardError {
public:
  explicit StandardError(const TempDir& dir) : file_(dir.file("stderr")), before_(::dup(STDERR_FILENO)) {
    const int caught = ::open(file_.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(caught, STDERR_FILENO);
    ::close(caught);
  }
  ~StandardError() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

  [[nodiscard]] std::string text() const {
    std::ostringstream all;
    all << std::ifstream(file_).rdbuf();
    return all.str();
  }

private:
  const std::filesystem::path file_;
  const int before_;
};

Frame frameTo(const std::string& peer) {
  Frame frame;
  frame.peer = peer;
  frame.session = "s";
  frame.type = "test";
  frame.data = "\"secret payload\"";
  return frame;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST_CASE("a record is one line of key=value, or one object of JSON, whatever is in it") {
  const std::vector<LogField> fields = {{"peer", "bob"}, {"cause", "a \"quoted\"\nline"}, {"empty", ""}};
  LogRecord record;
  record.level = LogLevel::warning;
  record.at = WallTime(milliseconds(1'700'000'000'123));
  record.event = "peer-down";
  record.text = "it is down";
  record.fields = fields;
  CHECK(toKeyValue(record) ==
        "2023-11-14T22:13:20.123Z warning peer-down peer=bob cause=\"a \\\"quoted\\\"\\u000aline\" empty=\"\" "
        "text=\"it is "
        "down\"");
  record.leftOut = 7;
  const nlohmann::json parsed = nlohmann::json::parse(toJson(record));
  CHECK(parsed["level"] == "warning");
  CHECK(parsed["event"] == "peer-down");
  CHECK(parsed["cause"] == "a \"quoted\"\nline");
  CHECK(parsed["left_out"] == 7);
  CHECK(parsed["at"] == "2023-11-14T22:13:20.123Z");
  CHECK(toKeyValue(record).find(" left_out=7 ") != std::string::npos);
  // An escape sequence of C1, and a turned direction.
  record.text =
      "\xc2\x9b"
      "31m\xe2\x80\xae";
  for (const std::string& line : {toKeyValue(record), toJson(record)}) {
    CHECK(line.find("\xc2\x9b") == std::string::npos);
    CHECK(line.find("\xe2\x80\xae") == std::string::npos);
    CHECK(line.find("\\u009b31m\\u202e") != std::string::npos);
  }
  CHECK(nlohmann::json::parse(toJson(record))["text"] == record.text);
}

TEST_CASE("of one event too many records are counted instead of written, and the next one says how many") {
  const auto clock = std::make_shared<ManualClock>();
  std::vector<std::pair<std::string, std::uint64_t>> got;
  {
    manager::Log log([&got](const LogRecord& record) { got.emplace_back(record.event, record.leftOut); },
                     LogLevel::info, clock);
    for (int number = 0; number < 40; ++number) {
      log.write(LogLevel::warning, "flood", "again");
    }
    log.write(LogLevel::debug, "below", "not asked for");
    log.write(LogLevel::info, "other", "has a limit of its own");
    REQUIRE(got.size() == manager::Log::kRecordsInPeriod + 1);
    clock->advance(manager::Log::kPeriod);
    log.write(LogLevel::warning, "flood", "again");
    CHECK(got.back() == std::pair<std::string, std::uint64_t>("flood", 10));
    for (int number = 0; number < 40; ++number) {
      log.write(LogLevel::warning, "flood", "again");
    }
  }
  // What was left out last is said at the end.
  CHECK(got.back() == std::pair<std::string, std::uint64_t>("flood", 11));
}

TEST_CASE("a sink that throws harms nothing") {
  manager::Log log([](const LogRecord&) { throw std::runtime_error("full"); }, LogLevel::info, systemClock());
  log.write(LogLevel::error, "any", "text");
}

TEST_CASE_FIXTURE(Logged,
                  "a peer that cannot be reached is told to the program and the log once, and so is that it answers") {
  std::vector<PeerEvent> events;
  const Subscription peers = manager.onPeer([&events](const PeerEvent& event) { events.push_back(event); });
  sender->setScript(
      [](const SendRequest&) { return ScriptedSender::failed(RequestOutcome::peerUnavailable, "connection refused"); });
  manager.enqueue(frameTo("default"));
  for (int pass = 0; pass < 3; ++pass) {
    manager.drainOnce();
    clock->advance(std::chrono::hours(1));
  }
  REQUIRE(events.size() == 1);
  CHECK(events[0].peer == "default");
  CHECK((events[0].state == PeerState::down));
  CHECK(events[0].cause == "connection refused");
  CHECK(events[0].nextProbeAt > events[0].since);
  REQUIRE(kept.of("peer-down").size() == 1);
  CHECK(kept.of("peer-down")[0].find("cause=\"connection refused\"") != std::string::npos);

  sender->setScript([](const SendRequest&) { return ScriptedSender::failed(RequestOutcome::peerRefused, "HTTP 401"); });
  manager.drainOnce();
  clock->advance(std::chrono::hours(1));
  answerAll(Outcome::ack);
  manager.drainOnce();
  REQUIRE(events.size() == 3);
  CHECK((events[1].state == PeerState::held));
  CHECK((events[2].state == PeerState::up));
  CHECK(events[2].cause.empty());
  REQUIRE(kept.of("peer-held").size() == 1);
  CHECK(kept.of("peer-held")[0].find("correct the cause, then `ackbox resume` tries it at once") != std::string::npos);
  CHECK(kept.of("peer-up").size() == 1);
}

TEST_CASE_FIXTURE(Logged, "the log of a peer that knows more than this file does not advise to resume it") {
  manager.enqueue("s", "t", "1");
  FrameResult stale;
  stale.outcome = Outcome::term;
  stale.code = "stale-epoch";
  // Once may be a matter of two processes; twice is this file's.
  for (int answers = 0; answers < 2; ++answers) {
    PullConsumer(manager).settle(PullConsumer(manager).claim(1).at(0), stale);
  }
  REQUIRE(kept.of("peer-held").size() == 1);
  CHECK(kept.of("peer-held")[0].find("`ackbox resume` does not help: restore.md") != std::string::npos);
}

TEST_CASE_FIXTURE(Logged, "a peer that is paused and let go on by hand is not said to answer") {
  OutboxOperator operate(manager);
  operate.pause("default");
  manager.drainOnce();
  operate.resume("default");
  manager.drainOnce();
  CHECK(kept.of("peer-paused").size() == 1);
  CHECK(kept.of("peer-resumed").size() == 1);
  CHECK(kept.of("peer-up").empty());
}

TEST_CASE("a message that is tried again or given up is in the log with its id and cause, and never its data") {
  const TempDir dir;
  Kept kept;
  OutboxOptions options;
  options.log = kept.sink();
  options.logLevel = LogLevel::debug;
  const auto clock = std::make_shared<ManualClock>();
  options.clock = clock;
  options.retry.maxRetries = 1;
  OutboxManager manager = OutboxManager::open(dir.file("a.db"), options);
  manager.setSender(ScriptedSender::always(Outcome::nack));
  const std::string id = manager.enqueue(frameTo("default")).messageId;
  for (int pass = 0; pass < 3; ++pass) {
    manager.drainOnce();
    clock->advance(std::chrono::hours(1));
  }
  REQUIRE(kept.of("message-retry").size() == 1);
  REQUIRE(kept.of("dead-letter").size() == 1);
  CHECK(kept.of("dead-letter")[0].find("message=" + id) != std::string::npos);
  CHECK(kept.of("dead-letter")[0].find("reason=retry-budget") != std::string::npos);
  for (const char* event : {"opened", "message-retry", "dead-letter", "message-sent", "message-acked"}) {
    for (const std::string& line : kept.of(event)) {
      CHECK(line.find("secret payload") == std::string::npos);
    }
  }
}

TEST_CASE_FIXTURE(Logged,
                  "P13: that a peer has no application is in the log and told to the program, once for each absence") {
  std::optional<milliseconds> absence = milliseconds(60'000);
  manager.setSender(std::make_shared<ScriptedSender>([&](const SendRequest& request) {
    SendReport report;
    report.outcome = RequestOutcome::answered;
    for (std::size_t index = 0; index < request.frames.size(); ++index) {
      FrameResult result;
      result.outcome = Outcome::defer;
      result.unattended = absence;
      report.results.push_back(result);
    }
    return report;
  }));
  std::vector<std::optional<WallTime>> said;
  const Subscription sent = manager.onSent([&](const SentEvent& event) { said.push_back(event.unattendedSince); });
  const auto sendOne = [&] {
    manager.enqueue(frameTo("default"));
    manager.drainOnce();
  };
  const WallTime first = clock->wallNow() - *absence;
  sendOne();
  sendOne();
  REQUIRE(kept.of("peer-unattended").size() == 1);
  CHECK(kept.of("peer-unattended")[0].find("peer=default") != std::string::npos);
  CHECK(kept.of("peer-unattended")[0].find("secret payload") == std::string::npos);
  absence.reset();
  sendOne();
  clock->advance(std::chrono::hours(1));
  absence = milliseconds(1'000);
  sendOne();
  CHECK(kept.of("peer-unattended").size() == 2);
  REQUIRE(said.size() >= 4);
  CHECK(said[0] == first);
  CHECK_FALSE(said[2].has_value());
}

TEST_CASE_FIXTURE(Logged, "a callback that throws is in the log") {
  const Subscription acked = manager.onAcked([](const AckedEvent&) { throw std::runtime_error("mine"); });
  manager.enqueue(frameTo("default"));
  manager.drainOnce();
  REQUIRE(kept.of("callback-threw").size() == 1);
  CHECK(kept.of("callback-threw")[0].find("error=mine") != std::string::npos);
}

TEST_CASE("messages for a peer that this process was not given are told at the opening") {
  const TempDir dir;
  OutboxOptions options;
  options.peers.resize(2);
  options.peers[0].name = "bob";
  options.peers[1].name = "carol";
  {
    OutboxManager manager = OutboxManager::open(dir.file("a.db"), options);
    manager.enqueue(frameTo("bob"));
    manager.enqueue(frameTo("bob"));
  }
  Kept kept;
  options.log = kept.sink();
  options.peers[0].name = "bobby";
  const OutboxManager manager = OutboxManager::open(dir.file("a.db"), options);
  REQUIRE(kept.of("peer-not-configured").size() == 1);
  CHECK(kept.of("peer-not-configured")[0].find("peer=bob messages=2") != std::string::npos);
}

TEST_CASE("an opening that is refused is in the log, or else on standard error, and so is a peer that is down, once") {
  const TempDir dir;
  std::ofstream(dir.file("none.db")) << "this is no database, and long enough to be seen to be none at first sight";
  Kept kept;
  OutboxOptions options;
  options.log = kept.sink();
  CHECK_THROWS_AS((void)OutboxManager::open(dir.file("none.db"), options), Error);
  CHECK(kept.of("open-refused").size() == 1);

  const StandardError standardError(dir);
  options.log = {};
  CHECK_THROWS_AS((void)OutboxManager::open(dir.file("none.db"), options), Error);
  CHECK(count(standardError.text(), "open-refused") == 1);

  const auto clock = std::make_shared<ManualClock>();
  options.clock = clock;
  OutboxManager manager = OutboxManager::open(dir.file("a.db"), options);
  int attempts = 0;
  manager.setSender(std::make_shared<ScriptedSender>([&attempts](const SendRequest&) {
    return ScriptedSender::failed(RequestOutcome::peerUnavailable, "attempt " + std::to_string(++attempts));
  }));
  manager.enqueue(frameTo("default"));
  for (int pass = 0; pass < 4; ++pass) {
    manager.drainOnce();
    clock->advance(std::chrono::hours(1));
  }
  CHECK(attempts == 4);
  CHECK(count(standardError.text(), " peer-down ") == 1);
  CHECK(count(standardError.text(), "\n") == 2);
}

TEST_CASE("a file that was replaced under a run is on standard error where nobody asked for a log, once") {
  const TempDir dir;
  const StandardError standardError(dir);
  OutboxManager manager = OutboxManager::open(dir.file("a.db"), {});
  manager.setSender(ScriptedSender::always(Outcome::ack));
  manager.enqueue(frameTo("default"));
  const std::string older = dir.file("older.db").string();
  SQLite::Database(dir.file("a.db").string(), SQLite::OPEN_READWRITE).exec("VACUUM INTO '" + older + "'");
  manager.enqueue(frameTo("default"));
  manager.drainOnce();
  {
    SQLite::Database source(older, SQLite::OPEN_READONLY);
    SQLite::Database target(dir.file("a.db").string(), SQLite::OPEN_READWRITE);
    SQLite::Backup(target, source).executeStep(-1);
  }
  CHECK(standardError.text().empty());
  for (int pass = 0; pass < 2; ++pass) {
    CHECK_THROWS_AS((void)manager.drainOnce(), Error);
  }
  CHECK(count(standardError.text(), " unwell ") == 1);
  CHECK(standardError.text().find("restart") != std::string::npos);
}

TEST_CASE("a sink that does nothing silences standard error") {
  const TempDir dir;
  const StandardError standardError(dir);
  OutboxOptions options;
  options.log = [](const LogRecord&) {};
  std::ofstream(dir.file("none.db")) << "this is no database, and long enough to be seen to be none at first sight";
  CHECK_THROWS_AS((void)OutboxManager::open(dir.file("none.db"), options), Error);
  CHECK(standardError.text().empty());
}

}  // namespace
}  // namespace ackbox::log_test
