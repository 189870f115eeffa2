// Goal: a copy that is taken beside an agent is of one instant, and is there as a whole or not at all; and a file that
// was put back can be made another store, whose messages no peer takes for those of the lost one.
// Method: commits from within the copying; a copying that is broken off; a file with messages in all states, and other
// managers on it.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/manual_clock.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::backup_test {
namespace {

using testing::ManualClock;
using testing::ScriptedSender;
using testing::TempDir;
namespace fs = std::filesystem;

struct Backups {
  OutboxOptions options() const {
    OutboxOptions made;
    made.clock = clock;
    made.random = seededRandom(1);
    made.ackedRetention = std::chrono::hours(1);
    made.peers = {{.name = "bob"}, {.name = "carol"}};
    return made;
  }
  OutboxManager agent() const { return OutboxManager::open(file, options()); }
  OutboxReader reader(const fs::path& of) const { return OutboxReader::open(of, options()); }

  TempDir dir;
  fs::path file = dir.file("agent.db");
  fs::path copy = dir.file("copy.db");
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
};

void enqueue(OutboxManager& agent, const std::string& peer, const std::string& session, const std::string& id,
             std::size_t bytes = 2) {
  Frame frame;
  frame.peer = peer;
  frame.session = session;
  frame.type = "t";
  frame.id = id;
  frame.data = '"' + std::string(bytes - 2, 'x') + '"';
  REQUIRE(agent.enqueue(frame).isNew());
}

template <typename Call>
Errc thrownBy(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return static_cast<Errc>(error.code().value());
  }
  return Errc{};
}

std::vector<std::string> namesIn(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("a backup beside an agent is of the instant at which it began, and has the file's permissions") {
  const Backups world;
  OutboxManager agent = world.agent();
  for (int number = 0; number < 40; ++number) {
    enqueue(agent, "bob", "s", "before-" + std::to_string(number), 100'000);
  }
  int calls = 0;
  std::uint64_t doneLast = 0;
  OutboxReader(agent).backUp(world.copy, [&](std::uint64_t done, std::uint64_t of) {
    enqueue(agent, "bob", "s", "during-" + std::to_string(calls++));
    CHECK(done > doneLast);
    CHECK(done <= of);
    doneLast = done;
  });
  CHECK(calls > 2);
  const OutboxReader copied = world.reader(world.copy);
  CHECK(copied.getStats().pending == 40);
  CHECK(copied.find("before-39"));
  CHECK_FALSE(copied.find("during-0"));
  CHECK(copied.verify().clean());
  CHECK(copied.fileInfo().origin == agent.origin());
  struct stat made {};
  REQUIRE(stat(world.copy.c_str(), &made) == 0);
  CHECK((made.st_mode & 0777) == 0600);
}

TEST_CASE(
    "P10: an agent that was opened by a relative path is verified and copied after its working directory changed") {
  const Backups world;
  const fs::path before = fs::current_path();
  fs::current_path(world.file.parent_path());
  const OutboxManager agent = OutboxManager::open(world.file.filename());
  fs::current_path(before);
  const OutboxReader reader(agent);
  CHECK(reader.verify().clean());
  reader.backUp(world.copy);
  CHECK(world.reader(world.copy).fileInfo().origin == agent.origin());
}

TEST_CASE("a backup overwrites nothing, and one that is broken off leaves nothing") {
  const Backups world;
  OutboxManager agent = world.agent();
  const OutboxReader reader(agent);
  enqueue(agent, "bob", "s", "a");
  const std::vector<std::string> before = namesIn(world.file.parent_path());
  CHECK_THROWS_AS(reader.backUp(world.copy, [](auto, auto) { throw std::runtime_error("enough"); }),
                  std::runtime_error);
  CHECK(namesIn(world.file.parent_path()) == before);
  CHECK(thrownBy([&] { reader.backUp(world.dir.file("nowhere") / "copy.db"); }) == Errc::cannotOpen);
  CHECK(thrownBy([&] { reader.backUp(""); }) == Errc::invalidOption);
  reader.backUp(world.copy);
  CHECK(thrownBy([&] { reader.backUp(world.copy); }) == Errc::cannotOpen);
  CHECK(world.reader(world.copy).find("a"));
}

TEST_CASE("fileInfo: version, identity and the newest instant") {
  const Backups world;
  OutboxManager agent = world.agent();
  world.clock->advance(std::chrono::minutes(5));
  enqueue(agent, "bob", "s", "a");
  const FileInfo info = OutboxReader(agent).fileInfo();
  CHECK(info.schemaVersion == 1);
  CHECK(info.writtenBy == "0.1.0");
  CHECK(info.origin == agent.origin());
  CHECK(info.epoch == 1);
  CHECK(info.newestAt == world.clock->wallNow());
  CHECK(info.ownersFile.filename() == "agent.db-ackbox-owners");
  CHECK_FALSE(info.sqliteVersion.empty());
}

TEST_CASE("P4 P10: a new store keeps what is pending, in its order and under its ids, and is sound") {
  const Backups world;
  {
    OutboxManager agent = world.agent();
    agent.setSender(std::make_shared<ScriptedSender>([](const SendRequest& request) {
      SendReport report = ScriptedSender::all(request, Outcome::ack);
      for (std::size_t index = 0; index < request.frames.size(); ++index) {
        const std::string& id = request.frames[index].messageId;
        report.results[index].outcome = id == "deferred" ? Outcome::defer : id == "dead" ? Outcome::term : Outcome::ack;
      }
      return report;
    }));
    for (const char* id : {"acked-1", "acked-2"}) {
      enqueue(agent, "bob", "s", id);
    }
    enqueue(agent, "bob", "t", "dead");
    enqueue(agent, "carol", "u", "deferred");
    agent.drainOnce();
    Frame keyed{.peer = "bob", .session = "s", .type = "t", .data = "1", .id = "pending-1"};
    keyed.idempotencyKey = "key";
    REQUIRE(agent.enqueue(keyed).isNew());
    enqueue(agent, "bob", "s", "pending-2");
    enqueue(agent, "bob", "t", "behind");
    enqueue(agent, "carol", "", "unordered");
    REQUIRE(agent.getStats().sent == 1);
    REQUIRE(agent.getStats().ackedRetained == 2);
    // A copy of a moment at which the agent has it open.
    OutboxReader(agent).backUp(world.copy);
  }
  const std::string before = world.reader(world.copy).fileInfo().origin;
  const NewStoreReport report = OutboxOperator::makeNewStore(world.copy, world.options());
  CHECK(report.originBefore == before);
  CHECK(report.pending == 4);
  CHECK(report.failed == 1);
  CHECK(report.sentLeftOut == 1);
  CHECK(report.ackedLeftOut == 2);
  const OutboxReader reader = world.reader(world.copy);
  for (const Finding& finding : reader.verify().findings) {
    FAIL_CHECK(finding.table << ' ' << finding.row << ' ' << finding.problem);
  }
  CHECK(reader.fileInfo().origin == report.origin);
  CHECK(report.origin != before);
  CHECK(reader.find("pending-1")->sequence == 1);
  CHECK(reader.find("pending-2")->sequence == 2);
  CHECK(reader.find("dead")->sequence == 1);
  CHECK(reader.find("behind")->sequence == 2);
  CHECK(reader.find("unordered")->sequence == 0);
  CHECK_FALSE(reader.find("deferred"));
  CHECK_FALSE(reader.find("acked-1"));
  CHECK(reader.getStats().pending == 4);
  CHECK(reader.getStats().sent == 0);
  CHECK(reader.getStats().ackedRetained == 0);
  CHECK(reader.getStats().recounts == 0);
  CHECK(reader.getStats().enqueued == 8);

  OutboxManager again = OutboxManager::open(world.copy, world.options());
  const auto sender = ScriptedSender::always(Outcome::ack);
  again.setSender(sender);
  enqueue(again, "bob", "s", "later");
  Frame repeated{.peer = "bob", .session = "s", .type = "t", .data = "1"};
  repeated.idempotencyKey = "key";
  CHECK_FALSE(again.enqueue(repeated).isNew());
  again.drainOnce();
  std::map<std::string, std::string> sent;
  for (const OutboundFrame& frame : sender->frames()) {
    sent[frame.session] += frame.messageId + ":" + std::to_string(frame.sequence) + " ";
  }
  CHECK(sent["s"] == "pending-1:1 pending-2:2 later:3 ");
  CHECK(sent["t"] == "behind:2 ");
  CHECK(sent[""] == "unordered:0 ");
  CHECK(OutboxReader(again).verify().clean());
}

TEST_CASE("a file that another manager has open is made no new store, and stays what it was") {
  const Backups world;
  OutboxManager agent = world.agent();
  enqueue(agent, "bob", "s", "a");
  CHECK(thrownBy([&] { OutboxOperator::makeNewStore(world.file, world.options()); }) == Errc::alreadyRunning);
  CHECK(OutboxReader(agent).fileInfo().origin == agent.origin());
  enqueue(agent, "bob", "s", "b");
  CHECK(agent.find("b")->sequence == 2);
  CHECK(thrownBy([&] { OutboxOperator::makeNewStore(world.dir.file("none.db"), world.options()); }) ==
        Errc::cannotOpen);
}

TEST_CASE("a file without a name is refused as an option") {
  CHECK(thrownBy([] { static_cast<void>(OutboxManager::open("")); }) == Errc::invalidOption);
  CHECK(thrownBy([] { static_cast<void>(OutboxReader::open("")); }) == Errc::invalidOption);
}

}  // namespace
}  // namespace ackbox::backup_test
