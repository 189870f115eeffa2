// Goal: a file is looked at from outside, beside its agent or without it, and never changed by it; and a tool that does
// not know the agent's configuration may add frames for the peers that the file knows.
// Method: a real file, an agent on it, and readers; the file's bytes compared before and after.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/outbox_writer.hpp"
#include "support/manual_clock.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::outbox_reader_test {
namespace {

using testing::ManualClock;
using testing::ScriptedSender;
using testing::TempDir;
namespace fs = std::filesystem;

struct Files {
  OutboxOptions options(std::vector<PeerOptions> peers = {}) const {
    OutboxOptions made;
    made.clock = clock;
    made.random = seededRandom(1);
    made.peers = std::move(peers);
    return made;
  }
  OutboxManager agent() const {
    return OutboxManager::open(file, options({{.name = "bob", .url = "http://bob/"}, {.name = "carol"}}));
  }
  OutboxReader reader() const { return OutboxReader::open(file, options()); }

  TempDir dir;
  fs::path file = dir.file("agent.db");
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
};

Frame frameOf(std::string peer, std::string session, std::string id) {
  Frame frame;
  frame.peer = std::move(peer);
  frame.session = std::move(session);
  frame.type = "test.event";
  frame.id = std::move(id);
  frame.data = R"({"of": "it"})";
  return frame;
}

std::string idsOf(const MessagePage& page) {
  std::string ids;
  for (const MessageInfo& message : page.messages) {
    ids += message.messageId;
  }
  return ids;
}

Errc refusalOf(const fs::path& file) {
  try {
    static_cast<void>(OutboxReader::open(file));
  } catch (const Error& error) {
    return static_cast<Errc>(error.code().value());
  }
  return Errc{};
}

std::string bytesOf(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_CASE("pages of messages follow one another in the order of the enqueues, by state, peer and session") {
  Files files;
  OutboxManager agent = files.agent();
  for (const char* id : {"a", "b", "c", "d"}) {
    const bool even = id[0] % 2 == 0;
    agent.enqueue(frameOf(even ? "carol" : "bob", even ? "t" : "s", id));
  }
  agent.setSender(std::make_shared<ScriptedSender>([](const SendRequest& request) {
    return ScriptedSender::all(request, request.peer == "bob" ? Outcome::defer : Outcome::term, "no");
  }));
  agent.drainOnce();
  agent.enqueue(frameOf("bob", "u", "e"));
  const OutboxReader reader = files.reader();

  MessagePage page = reader.messages({}, 2);
  CHECK(idsOf(page) == "ab");
  CHECK(page.next == page.messages.back().row);
  page = reader.messages({}, 2, page.next);
  CHECK(idsOf(page) == "cd");
  page = reader.messages({}, 2, page.next);
  CHECK(idsOf(page) == "e");
  CHECK(page.next == 0);

  CHECK(idsOf(reader.messages({.state = MessageState::pending})) == "e");
  CHECK(idsOf(reader.messages({.state = MessageState::sent})) == "ac");
  CHECK(idsOf(reader.messages({.state = MessageState::failed})) == "bd");
  CHECK(idsOf(reader.messages({.state = MessageState::sending})).empty());
  CHECK(idsOf(reader.messages({.peer = "bob"})) == "ace");
  CHECK(idsOf(reader.messages({.peer = "bob", .session = "s"})) == "ac");
  CHECK(idsOf(OutboxReader(agent).messages({.session = "t"})) == "bd");
  CHECK_THROWS_AS(static_cast<void>(reader.messages({}, 0)), Error);
}

TEST_CASE("what is in flight is listed by state") {
  Files files;
  OutboxManager agent = files.agent();
  std::string seen;
  agent.enqueue(frameOf("bob", "s", "a"));
  agent.enqueue(frameOf("bob", "s", "b"));
  agent.setSender(std::make_shared<ScriptedSender>([&](const SendRequest& request) {
    seen = idsOf(OutboxReader(agent).messages({.state = MessageState::sending}));
    return ScriptedSender::all(request, Outcome::ack);
  }));
  agent.drainOnce();
  CHECK(!seen.empty());
}

TEST_CASE("a frame is read back as it was enqueued") {
  Files files;
  OutboxManager agent = files.agent();
  Frame frame = frameOf("bob", "s", "a");
  frame.expiresAt = files.clock->wallNow() + std::chrono::hours(1);
  frame.notBefore = files.clock->wallNow() + std::chrono::minutes(1);
  frame.priority = 7;
  frame.supersedeKey = "latest";
  frame.traceparent = "00-1-2-01";
  frame.correlationId = "other";
  agent.enqueue(frame);
  const auto read = files.reader().frame("a");
  REQUIRE(read);
  CHECK(read->peer == "bob");
  CHECK(read->session == "s");
  CHECK(read->type == "test.event");
  CHECK(read->id == "a");
  CHECK(read->data == R"({"of": "it"})");
  CHECK(read->expiresAt == frame.expiresAt);
  CHECK(read->notBefore == frame.notBefore);
  CHECK(read->priority == 7);
  CHECK(read->supersedeKey == "latest");
  CHECK(read->traceparent == "00-1-2-01");
  CHECK(read->correlationId == "other");
  CHECK_FALSE(files.reader().frame("b"));
}

TEST_CASE("P10: of a file alone, an explanation promises nothing that no process may do") {
  Files files;
  const auto sentence = [&files](const char* id) { return files.reader().explain(id)->sentence; };
  {
    OutboxManager agent = files.agent();
    agent.enqueue(frameOf("bob", "s", "a"));
    agent.enqueue(frameOf("carol", "t", "b"));
    agent.enqueue(frameOf("carol", "u", "c"));
    CHECK(
        sentence("b").ends_with("is PENDING: nothing in the outbox hinders it: it goes at the next claim of a process "
                                "that delivers and was given "
                                "peer carol."));
    agent.setSender(std::make_shared<ScriptedSender>([](const SendRequest& request) {
      if (request.peer == "bob") {
        SendReport report;
        report.outcome = RequestOutcome::peerRefused;
        report.error = "bob:1 is no URL";
        return report;
      }
      SendReport report = ScriptedSender::all(request, Outcome::defer);
      for (std::size_t place = 0; place < request.frames.size(); ++place) {
        if (request.frames[place].messageId == "c") {
          report.results[place].outcome = Outcome::term;
          report.results[place].code = "no-stock";
          report.results[place].detail = "sold out since Monday";
        }
      }
      return report;
    }));
    agent.drainOnce();
    CHECK(sentence("a").find(": the peer is held (bob:1 is no URL) and is asked again at ") != std::string::npos);
    CHECK(sentence("b").find("; it is asked again at ") != std::string::npos);
  }
  CHECK(
      sentence("a").ends_with("is PENDING: no process has the outbox open; the peer is held (bob:1 is no URL); correct "
                              "the cause and resume the peer."));
  CHECK(
      sentence("b").find("is SENT: no process has the outbox open; the peer has it and will acknowledge, and shows its "
                         "runs (ackbox inbox-explain there); its deadline "
                         "is ") != std::string::npos);
  CHECK(sentence("c").find(" with reason no-stock (last error: sold out since Monday)") != std::string::npos);
}

TEST_CASE("a reader is refused what is no outbox, and leaves it as it was") {
  const Files files;
  CHECK(refusalOf(files.file) == Errc::cannotOpen);
  CHECK_FALSE(fs::exists(files.file));
  std::ofstream(files.file) << "This is not a database, only a text that is long enough to be looked at as one.";
  CHECK(refusalOf(files.file) == Errc::notADatabase);
  const fs::path other = files.dir.file("other.db");
  {
    OutboxOptions options = files.options();
    options.tablePrefix = "another_";
    static_cast<void>(OutboxManager::open(other, options));
  }
  const std::string before = bytesOf(other);
  CHECK(refusalOf(other) == Errc::schemaMissing);
  CHECK(bytesOf(other) == before);
}

TEST_CASE("a reader writes nothing, not even that it was there") {
  const Files files;
  { files.agent().enqueue(frameOf("bob", "s", "a")); }
  const std::string before = bytesOf(files.file);
  {
    const OutboxReader reader = files.reader();
    CHECK(reader.getStats().pending == 1);
    CHECK(reader.find("a")->row == 1);
    CHECK(reader.explain("a"));
    CHECK(reader.verify().clean());
    CHECK(reader.processIds().empty());
  }
  CHECK(bytesOf(files.file) == before);
}

TEST_CASE("a file that may only be read is read") {
  const Files files;
  { files.agent().enqueue(frameOf("bob", "s", "a")); }
  fs::permissions(files.file, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  // Root may write everything, so be somebody else for a while.
  const bool isRoot = geteuid() == 0;
  if (isRoot) {
    fs::permissions(files.file.parent_path(), fs::perms::all);
    REQUIRE(seteuid(65534) == 0);
  }
  std::uint64_t pending = 0;
  Errc refusal{};
  try {
    pending = files.reader().getStats().pending;
    static_cast<void>(files.agent());
  } catch (const Error& error) {
    refusal = static_cast<Errc>(error.code().value());
  }
  if (isRoot) {
    REQUIRE(seteuid(0) == 0);
  }
  CHECK(pending == 1);
  CHECK(refusal == Errc::databaseReadOnly);
}

TEST_CASE("a file beside a log that may not be opened is refused, because without its log it is an old one") {
  const Files files;
  const auto folder = files.file.parent_path() / "copy";
  {
    OutboxManager agent = files.agent();
    agent.enqueue(frameOf("bob", "s", "a"));
    fs::create_directory(folder);
    fs::copy_file(files.file, folder / "agent.db");
    fs::copy_file(files.file.string() + "-wal", folder / "agent.db-wal");
  }
  REQUIRE(fs::file_size(folder / "agent.db-wal") != 0);
  constexpr auto kReading = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  fs::permissions(folder / "agent.db", kReading);
  fs::permissions(folder / "agent.db-wal", kReading);
  fs::permissions(files.file.parent_path(), fs::perms::all);
  fs::permissions(folder, kReading | fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec);
  const bool isRoot = geteuid() == 0;
  REQUIRE((!isRoot || seteuid(65534) == 0));
  const Errc refusal = refusalOf(folder / "agent.db");
  REQUIRE((!isRoot || seteuid(0) == 0));
  fs::permissions(folder, fs::perms::owner_all);
  CHECK((refusal == Errc::cannotOpen || refusal == Errc::databaseReadOnly));
}

TEST_CASE("P10: from outside, a message waits for a process that has the file open, if there is none") {
  const Files files;
  { files.agent().enqueue(frameOf("bob", "s", "a")); }
  const OutboxReader reader = files.reader();
  auto explanation = reader.explain("a");
  REQUIRE(explanation);
  REQUIRE(explanation->reasons.size() == 1);
  CHECK(explanation->reasons[0].blockReason == BlockReason::notRunning);
  CHECK(explanation->sentence.find("no process has the outbox open") != std::string::npos);
  const OutboxManager agent = files.agent();
  CHECK(reader.processIds() == std::vector<std::int64_t>{getpid()});
  CHECK(reader.explain("a")->reasons.empty());
}

TEST_CASE("P10: circuits, pauses and blocked sessions are seen from outside as the file has them") {
  const Files files;
  OutboxOptions options = files.options({{.name = "bob", .url = "http://bob/"}, {.name = "carol"}});
  options.sessionPolicies = {{.session = "strict", .gap = GapPolicy::block}};
  OutboxManager agent = OutboxManager::open(files.file, options);
  agent.setSender(std::make_shared<ScriptedSender>(
      [](const SendRequest& request) { return ScriptedSender::all(request, Outcome::term, "no"); }));
  agent.enqueue(frameOf("carol", "strict", "a"));
  agent.drainOnce();
  agent.enqueue(frameOf("carol", "strict", "b"));
  OutboxOperator(agent).pause("bob");
  const OutboxReader reader = files.reader();
  const std::vector<PeerStatus> peers = reader.peers();
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].name == "bob");
  CHECK((peers[0].state == PeerState::paused));
  CHECK(peers[0].since == files.clock->wallNow());
  CHECK((peers[1].state == PeerState::up));
  // Whom the agent was given says nothing here.
  CHECK_FALSE(peers[0].isConfigured);
  const std::vector<BlockedSession> blocked = reader.blockedSessions();
  REQUIRE(blocked.size() == 1);
  CHECK(blocked[0].peer == "carol");
  CHECK(blocked[0].session == "strict");
  CHECK(blocked[0].messageId == "a");
  CHECK(blocked[0].reason == "no");
  CHECK(blocked[0].waiting == 1);
  CHECK(reader.sessionStats("carol", "strict")->blockedAt == blocked[0].since);
  CHECK_FALSE(reader.sessionStats("carol", "strict")->pausedAt);
  CHECK(OutboxOperator(agent).pause("carol", "strict"));
  CHECK(reader.sessions().sessions.front().pausedAt == files.clock->wallNow());
  CHECK(OutboxOperator(agent).resume("carol", "strict"));
  CHECK(OutboxOperator(agent).unblock("carol", "strict"));
  CHECK_FALSE(reader.sessionStats("carol", "strict")->blockedAt);
  CHECK(reader.blockedSessions().empty());
  CHECK_THROWS_AS(static_cast<void>(reader.blockedSessions(0)), Error);
}

TEST_CASE("with adoptPeers the file's peers are addressed, and neither changed nor added to") {
  const Files files;
  { static_cast<void>(files.agent()); }
  OutboxOptions options = files.options();
  options.adoptPeers = true;
  OutboxManager tool = OutboxManager::open(files.file, options);
  CHECK(tool.enqueue(frameOf("bob", "s", "a")).isNew());
  CHECK(tool.enqueue(frameOf("carol", "s", "b")).isNew());
  CHECK(tool.enqueue(frameOf("default", "s", "c")).status == EnqueueStatus::unknownPeer);
  CHECK(tool.explain("a")->reasons.size() == 1);
  // A reader that takes the peers from the file calls none of them a stranger.
  CHECK(OutboxReader::open(files.file, options).explain("a")->reasons.empty());

  SQLite::Database database(files.file.string(), SQLite::OPEN_READWRITE);
  CHECK(database.execAndGet("SELECT group_concat(name || url) FROM ackbox_peers").getString() ==
        "bobhttp://bob/,carol");
  OutboxWriter writer(tool, database);
  SQLite::Transaction transaction(database);
  CHECK(writer.enqueue(frameOf("bob", "s", "d")).isNew());
  transaction.commit();

  SendRequest sent;
  tool.setSender(std::make_shared<ScriptedSender>([&](const SendRequest& request) {
    sent = request;
    return ScriptedSender::all(request, Outcome::ack);
  }));
  CHECK(tool.drainOnce().acked == 3);
}

TEST_CASE("with adoptPeers a new file knows nobody") {
  const Files files;
  OutboxOptions options = files.options();
  options.adoptPeers = true;
  OutboxManager tool = OutboxManager::open(files.file, options);
  CHECK(tool.enqueue(frameOf("default", "s", "a")).status == EnqueueStatus::unknownPeer);
}

}  // namespace
}  // namespace ackbox::outbox_reader_test
