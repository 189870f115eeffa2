// Goal: an agent that cannot listen gets each frame's effect once, in order, and its sender learns what became of it,
// wherever the line breaks, whatever the handler answers, and when the token is replaced. Method: a sender, a daemon as
// the hub and an agent with a file of its own, over loopback, some of it through a proxy that breaks connections.

#include <doctest/doctest.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/mailbox_fetcher.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/comes_to.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"
#include "unit/serve/cutting_proxy.hpp"
#include "unit/serve/serve_stage.hpp"
#include "unit/transport/io_thread.hpp"

namespace ackbox::serve::fetch_test {
namespace {

using nlohmann::json;
using testing::comesTo;
using testing::CuttingProxy;
using testing::ServeStage;
using testing::Settings;
using testing::StreamReader;
using testing::TempDir;
using namespace std::chrono_literals;

Settings hubOf(Settings more = {}) {
  const json inbox = {{"listen", "127.0.0.1:0"}, {"allow_anonymous", true}, {"pull", json::array({"*"})}};
  more.insert(more.begin(), {.field = "inbox", .value = inbox.dump()});
  return more;
}

// The backoff of the hub is not what is tested here.
void withoutBackoff(Config& config) {
  config.inbox->handler.deferred.retry.delays = {1ms};
  config.inbox->handler.deferred.retry.maxRetries = 10'000;
}

/// Alice, who sends to the hub.
class Alice {
public:
  explicit Alice(const std::string& inboxUrl, const std::string& receiver = {})
      : options_(optionsOf(inboxUrl, receiver)), manager_(OutboxManager::open(dir_.file("alice.db"), options_)) {
    start();
  }
  void restart() {
    manager_.stop();
    manager_ = OutboxManager::open(dir_.file("alice.db"), options_);
    start();
  }
  std::string send(const std::string& session, const std::string& type, int number) {
    return manager_.enqueue({.peer = "hub", .session = session, .type = type, .data = std::to_string(number)})
        .messageId;
  }
  [[nodiscard]] bool isDone() const {
    const Stats stats = manager_.getStats();
    return stats.pending + stats.sending + stats.sent == 0;
  }
  [[nodiscard]] OutboxManager& manager() { return manager_; }

private:
  void start() {
    manager_.setSender(std::make_shared<HttpSender>());
    manager_.start();
  }
  static OutboxOptions optionsOf(const std::string& url, const std::string& receiver) {
    OutboxOptions options;
    options.agent = "urn:agent:alice";
    options.peers = {{.name = "hub", .url = url, .agent = receiver}};
    options.ackTimeout = 20ms;
    return options;
  }

  TempDir dir_;
  const OutboxOptions options_;
  OutboxManager manager_;
};

/// Dora, who only dials out. She applies `quick` frames at once, `slow` ones later, `last` ones once there is an
/// effect, and never `bad` ones.
class Dora {
public:
  explicit Dora(const std::string& believed = "urn:agent:alice")
      : manager_(OutboxManager::open(file_, optionsOf())), believed_(believed) {
    SQLite::Database(file_.string(), SQLite::OPEN_READWRITE)
        .exec("CREATE TABLE IF NOT EXISTS effects(id INTEGER PRIMARY KEY, session TEXT, data TEXT)");
    InboundOptions inbound;
    inbound.peers = {{.agents = {believed_}, .byMailbox = true}};
    inbound.deferred.handler = [](DeferredFrame frame) {
      frame.commit([frame](InboundTransaction& transaction) { return write(frame.frame(), transaction); });
    };
    handler_.emplace(
        manager_,
        [](const InboundFrame& frame, InboundTransaction& transaction) {
          if (frame.type == "last" && transaction.database().execAndGet("SELECT count(*) FROM effects").getInt() == 0) {
            return HandlerResult::notNow("it is not the last");
          }
          return frame.type == "slow"  ? HandlerResult::defer()
                 : frame.type == "bad" ? HandlerResult::reject("no such order", "no-order")
                                       : write(frame, transaction);
        },
        inbound);
    // Deferred frames are worked on.
    manager_.setSender(std::make_shared<HttpSender>());
    manager_.start();
  }
  ~Dora() {
    fetcher_.reset();
    io_.finish();
  }

  void fetch(MailboxFetcherOptions options) {
    options.reconnectLeast = 1ms;
    options.reconnectMost = 4ms;
    fetcher_.emplace(*handler_, std::move(options));
    fetcher_->start(io_.executor());
  }
  [[nodiscard]] MailboxFetcher& fetcher() { return *fetcher_; }
  [[nodiscard]] std::string effects(const std::string& session) const {
    SQLite::Database database(file_.string(), SQLite::OPEN_READONLY);
    SQLite::Statement query(database, "SELECT data FROM effects WHERE session=? ORDER BY id");
    query.bind(1, session);
    std::string found;
    while (query.executeStep()) {
      found += query.getColumn(0).getString() + " ";
    }
    return found;
  }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

private:
  static OutboxOptions optionsOf() {
    OutboxOptions options;
    options.agent = "urn:agent:dora";
    options.busyTimeout = 1ms;
    return options;
  }
  static HandlerResult write(const InboundFrame& frame, InboundTransaction& transaction) {
    SQLite::Statement insert(transaction.database(), "INSERT INTO effects(session, data) VALUES (?, ?)");
    insert.bind(1, frame.session);
    insert.bind(2, frame.data);
    insert.exec();
    return HandlerResult::ack(R"({"by":"dora"})");
  }

  TempDir dir_;
  const std::filesystem::path file_ = dir_.file("dora.db");
  OutboxManager manager_;
  const std::string believed_;
  std::optional<InboundHandler> handler_;
  testing::IoThread io_;
  std::optional<MailboxFetcher> fetcher_;
};

std::string hubUrl(ServeStage& hub) {
  return "http://127.0.0.1:" + std::to_string(hub.server().port());
}

}  // namespace

TEST_CASE("P3 P4 P5: wherever the line to the hub breaks, each frame takes effect once, in order, and is settled") {
  ServeStage hub(hubOf(), withoutBackoff);
  Alice alice(hub.server().inboxUrl());
  // Each connection lives a little longer, so that the breaks come in heads, in lines and in answers to settlements.
  constexpr std::size_t kCuts = 60;
  CuttingProxy proxy(hub.server().port(), [](std::size_t number) { return number < kCuts ? 100 + 29 * number : 0; });
  constexpr int kFrames = 24;
  std::string expected;
  std::string expectedLater;
  for (int number = 0; number < kFrames; ++number) {
    expected += std::to_string(number) + " ";
    expectedLater += number % 6 == 5 ? "" : std::to_string(number) + " ";
    alice.send("now", "quick", number);
    alice.send("later", number % 6 == 5 ? "bad" : number % 3 == 0 ? "slow" : "quick", number);
  }
  Dora dora;
  MailboxFetcherOptions options;
  options.url = proxy.url();
  dora.fetch(std::move(options));
  CHECK(comesTo([&] { return alice.isDone(); }));
  CHECK(proxy.connections() > kCuts / 2);
  CHECK(dora.effects("now") == expected);
  CHECK(dora.effects("later") == expectedLater);
  const Stats stats = alice.manager().getStats();
  CHECK(stats.failed == kFrames / 6);
  CHECK(comesTo([&] { return dora.fetcher().status().inHand == 0; }));
}

TEST_CASE("P5: a sender's ACK says that a deferred frame took effect, with the result; a reject is its dead letter") {
  ServeStage hub(hubOf());
  Alice alice(hub.server().inboxUrl());
  std::atomic<bool> isByDora = false;
  const Subscription acked =
      alice.manager().onAcked([&](const AckedEvent& event) { isByDora = event.result == R"({"by":"dora"})"; });
  Dora dora;
  MailboxFetcherOptions options;
  options.url = hubUrl(hub);
  dora.fetch(std::move(options));
  alice.send("s", "slow", 1);
  const std::string bad = alice.send("s", "bad", 2);
  CHECK(comesTo([&] { return alice.isDone() && isByDora; }));
  CHECK(dora.effects("s") == "1 ");
  CHECK(alice.manager().find(bad)->reason == "no-order");
  CHECK(alice.manager().find(bad)->lastError == "no such order");
}

TEST_CASE("P4 P5: an agent fetches its own mailbox, and its session goes on behind what it refused") {
  const TempDir dir;
  const std::string tokens = dir.file("tokens").string();
  const std::string token = "dora-0123456789abcdef0123456";
  testing::writePrivateFile(tokens, "dora mailbox=urn:agent:dora " + token + "\n");
  const json inbox = {
      {"listen", "127.0.0.1:0"}, {"allow_anonymous", true}, {"mailboxes", json::array({"urn:agent:dora"})}};
  ServeStage hub({{"inbox", inbox.dump()}, {"tokens_file", tokens}});
  Alice alice(hub.server().inboxUrl(), "urn:agent:dora");
  Dora dora;
  MailboxFetcherOptions options;
  options.url = hubUrl(hub);
  options.agent = "urn:agent:dora";
  options.token = SecretSource::fixed({Secret(std::string(token))});
  dora.fetch(std::move(options));
  for (const char* const type : {"quick", "bad", "slow", "bad", "bad", "quick"}) {
    alice.send("s", type, static_cast<int>(std::string_view(type).size()));
  }
  CHECK(comesTo([&] { return alice.isDone(); }));
  CHECK(dora.effects("s") == "5 4 5 ");
  CHECK(alice.manager().getStats().failed == 3);
  CHECK(hub.logged("frame-retry").empty());
}

TEST_CASE("P3 P5: a frame takes effect though its sender has restarted, and later ones of other sessions came first") {
  ServeStage hub(hubOf(), withoutBackoff);
  Alice alice(hub.server().inboxUrl());
  alice.send("a", "last", 1);
  REQUIRE(comesTo([&] { return alice.manager().getStats().sent == 1; }));
  alice.restart();
  alice.send("b", "quick", 2);
  Dora dora;
  MailboxFetcherOptions options;
  options.url = hubUrl(hub);
  dora.fetch(std::move(options));
  CHECK(comesTo([&] { return alice.isDone(); }));
  CHECK(dora.effects("a") == "1 ");
  CHECK(dora.effects("b") == "2 ");
  CHECK(alice.manager().getStats().failed == 0);
}

TEST_CASE("P8: while the handler's file is locked, frames wait, and nothing is charged to them") {
  ServeStage hub(hubOf());
  Alice alice(hub.server().inboxUrl());
  Dora dora;
  SQLite::Database lock(dora.file().string(), SQLite::OPEN_READWRITE);
  lock.setBusyTimeout(10'000);
  lock.exec("BEGIN IMMEDIATE");
  MailboxFetcherOptions options;
  options.url = hubUrl(hub);
  dora.fetch(std::move(options));
  alice.send("s", "quick", 1);
  REQUIRE(comesTo([&] { return dora.fetcher().status().inHand == 1; }));
  CHECK(dora.effects("s").empty());
  lock.exec("ROLLBACK");
  CHECK(comesTo([&] { return alice.isDone(); }));
  CHECK(dora.effects("s") == "1 ");
  CHECK(hub.logged("frame-retry").empty());
}

TEST_CASE("P3 P11: a frame of a source that no mailbox may vouch for has no effect, is told of, and is kept") {
  ServeStage hub(hubOf());
  Alice alice(hub.server().inboxUrl());
  Dora dora("urn:agent:somebody-else");
  const auto clock = std::make_shared<testing::ManualClock>();
  std::atomic<int> told = 0;
  MailboxFetcherOptions options;
  options.url = hubUrl(hub);
  options.clock = clock;
  options.onRefused = [&](std::string_view source, std::string_view /*id*/, std::string_view what) {
    told += source == "urn:agent:alice" && what.find("byMailbox") != std::string_view::npos ? 1 : 0;
  };
  dora.fetch(std::move(options));
  alice.send("s", "quick", 1);
  for (int times = 1; times <= 3; ++times) {
    REQUIRE(comesTo([&] {
      clock->advanceInStep(1ms);
      return told >= times;
    }));
  }
  CHECK(dora.effects("s").empty());
  CHECK_FALSE(alice.isDone());
  CHECK(hub.logged("frame-retry").empty());
}

TEST_CASE(
    "P13: a token that was replaced at the hub stops the fetcher, and the new one in its source starts it again") {
  const TempDir dir;
  const std::string tokens = dir.file("tokens").string();
  const std::string first = "first-0123456789abcdef012345";
  const std::string second = "second-0123456789abcdef01234";
  testing::writePrivateFile(tokens, "dora receive " + first + "\n");
  ServeStage hub(hubOf({{"tokens_file", tokens}}));
  Alice alice(hub.server().inboxUrl());
  Dora dora;
  const auto clock = std::make_shared<testing::ManualClock>();
  std::atomic<bool> isNew = false;
  MailboxFetcherOptions options;
  options.url = hubUrl(hub);
  options.clock = clock;
  options.token = SecretSource::callback([&] { return std::vector<Secret>{Secret(isNew ? second : first)}; });
  dora.fetch(std::move(options));
  alice.send("s", "quick", 1);
  REQUIRE(comesTo([&] { return alice.isDone(); }));
  testing::writePrivateFile(tokens, "dora receive " + second + "\n");
  hub.server().reload();
  const auto comesBy = [&](MailboxState state) {
    return comesTo([&] {
      clock->advanceInStep(1ms);
      return dora.fetcher().status().state == state;
    });
  };
  REQUIRE(comesBy(MailboxState::refused));
  CHECK(dora.fetcher().status().what.find("HTTP 401") != std::string::npos);
  alice.send("s", "quick", 2);
  isNew = true;
  clock->advance(60s);
  CHECK(comesBy(MailboxState::fetching));
  CHECK(comesTo([&] { return alice.isDone(); }));
  CHECK(dora.effects("s") == "1 2 ");
}

TEST_CASE("P13: a daemon without an address of its own fetches for its applications, and shows when it cannot") {
  ServeStage hub(hubOf());
  Alice alice(hub.server().inboxUrl());
  const json inbox = {{"fetch", json::array({{{"url", hubUrl(hub)}, {"agent", ""}}})},
                      {"peers", json::array({{{"agents", {"urn:agent:alice"}}, {"by_mailbox", true}}})},
                      {"pull", json::array({"*"})}};
  const Settings settings = {{.field = "inbox", .value = inbox.dump()}};
  ServeStage agent(settings);
  CHECK(agent.server().inboxUrl().empty());
  alice.send("s", "order", 7);
  StreamReader application(agent.server().port(), "/v1/inbox/stream");
  const json line = json::parse(application.line());
  CHECK(line.at("event").at("source") == "urn:agent:alice");
  CHECK(line.at("event").at("data") == 7);
  CHECK_FALSE(alice.isDone());
  const json body = {{"settlements", {{{"receipt", line.at("receipt")}, {"outcome", "ack"}}}}};
  CHECK(agent.asker().ask("POST", "/v1/inbox/settle", body.dump(), testing::kJson).status == 200);
  CHECK(comesTo([&] { return alice.isDone(); }));
  const std::string gauge = "\nackbox_mailbox_fetching{url=\"" + hubUrl(hub) + "\"} ";
  const auto shows = [&](const char* value) {
    return comesTo([&] { return agent.asker().ask("GET", "/metrics").body.find(gauge + value) != std::string::npos; });
  };
  CHECK(shows("1"));
  CHECK(agent.awaitRecord("mailbox-fetching").find(" info ") != std::string::npos);
  hub.end();
  CHECK(shows("0"));
  CHECK(agent.awaitRecord("mailbox-away").find("cause=") != std::string::npos);
}

}  // namespace ackbox::serve::fetch_test
