// Goal: an agent that cannot be reached gets its messages from its mailbox, in order and once, and nobody else does;
// what waits there delays nothing else and is told to its sender; a full mailbox refuses what it is sent. Method: a
// sender with two peers behind one inbox, a daemon, and streams, over loopback.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/temp_dir.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::mailbox_test {
namespace {

using nlohmann::json;
using testing::bearer;
using testing::HttpReply;
using testing::kJson;
using testing::ServeStage;
using testing::Settings;
using testing::StreamReader;
using testing::TempDir;
using namespace std::chrono_literals;

const std::string kCarol = "urn:agent:carol";
const std::string kDave = "urn:agent:dave";
const std::string kCarolToken = "carol-0123456789abcdef0123456789";
const std::string kDaveToken = "dave-0123456789abcdef0123456789";
const std::string kHubToken = "hub-0123456789abcdef0123456789";

struct Tokens {
  Tokens() { write(kCarol); }
  void write(const std::string& ofCarol) const {
    testing::writePrivateFile(file, "carol mailbox=" + ofCarol + " " + kCarolToken + "\ndave mailbox=" + kDave + " " +
                                        kDaveToken + "\nhub receive,read,operate " + kHubToken + "\n");
  }

  const TempDir dir;
  const std::string file = dir.file("tokens").string();
};

/// A hub with mailboxes, and a sender whose peers `carol`, `dave` and `hub` are all behind the hub's inbox.
class Stage {
public:
  explicit Stage(json inbox = {}, std::chrono::milliseconds ackTimeout = 50ms, const Settings& more = {})
      : serve_(settingsOf(std::move(inbox), more)) {
    sender_.emplace(openSender("alice", ackTimeout));
  }

  OutboxManager openSender(const std::string& name, std::chrono::milliseconds ackTimeout = 50ms) {
    OutboxOptions options;
    options.agent = "urn:agent:" + name;
    options.ackTimeout = ackTimeout;
    options.ackedRetention = 1h;
    options.peers.clear();
    for (const std::string& agent : {kCarol, kDave, std::string("urn:agent:hub")}) {
      PeerOptions& peer = options.peers.emplace_back();
      peer.name = agent.substr(agent.rfind(':') + 1);
      peer.url = serve_.server().inboxUrl();
      peer.agent = agent;
    }
    OutboxManager sender = OutboxManager::open(dir_.file(name + ".db"), std::move(options));
    sender.setSender(std::make_shared<HttpSender>());
    sender.start();
    return sender;
  }

  std::string send(const std::string& peer, const std::string& data, const std::string& session = "s") {
    return sender_->enqueue({.peer = peer, .session = session, .type = "t", .data = data}).messageId;
  }
  StreamReader open(const std::string& token, const std::string& query = {}) {
    return StreamReader(serve_.server().port(), "/v1/inbox/stream" + query, bearer(token));
  }
  /// The lines of the answer.
  std::vector<json> take(const std::string& token, const std::string& query) {
    const HttpReply reply = serve_.asker().ask("POST", "/v1/inbox/take" + query, {}, bearer(token));
    REQUIRE(reply.status == 200);
    std::vector<json> lines;
    std::istringstream text(reply.body);
    for (std::string line; std::getline(text, line);) {
      lines.push_back(json::parse(line));
    }
    return lines;
  }
  /// The sender takes ACK events of the hub, which keeps these mailboxes.
  void takeEvents(std::vector<std::string> mailboxes) {
    const std::string key = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    testing::writePrivateFile(dir_.file("alice.key").string(), key + "\n");
    InboundOptions options;
    options.peers = {{.agents = {"urn:agent:hub"},
                      .secrets = SecretSource::fixed({Secret(key)}),
                      .mailboxes = std::move(mailboxes)}};
    handler_.emplace(
        *sender_, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); }, std::move(options));
    server_.emplace(*handler_);
    const json peer = {{"url", server_->url()}, {"agent", "urn:agent:alice"}, {"secrets_file", "alice.key"}};
    REQUIRE(serve_.asker().ask("PUT", "/v1/peers/alice", peer.dump(), kJson + bearer(kHubToken)).status == 201);
  }
  json inbox(const std::string& query = {}) {
    return json::parse(serve_.asker().ask("GET", "/v1/inbox" + query, {}, bearer(kHubToken)).body).at("frames");
  }
  template <typename Fits>
  json inboxOnce(const Fits& fits) {
    while (true) {
      json frames = inbox();
      if (fits(frames)) {
        return frames;
      }
    }
  }
  std::string settle(const std::string& token, const json& line, const std::string& outcome = "ack",
                     const std::string& code = {}) {
    json one = {{"receipt", line.at("receipt")}, {"outcome", outcome}};
    if (outcome == "reject") {
      one["reason"] = "not mine";
    }
    if (!code.empty()) {
      one["code"] = code;
    }
    const json body = {{"settlements", json::array({one})}};
    const HttpReply reply = serve_.asker().ask("POST", "/v1/inbox/settle", body.dump(), kJson + bearer(token));
    return json::parse(reply.body).at("results").at(0).at("status");
  }
  /// Once the message has ended.
  MessageState endOf(const std::string& id) {
    while (true) {
      const MessageState state = sender_->explain(id)->message.state;
      if (state == MessageState::acked || state == MessageState::failed) {
        return state;
      }
    }
  }
  [[nodiscard]] OutboxManager& sender() { return *sender_; }
  [[nodiscard]] ServeStage& serve() { return serve_; }
  [[nodiscard]] const Tokens& tokens() const { return tokens_; }

private:
  Settings settingsOf(json inbox, const Settings& more) {
    inbox["listen"] = "127.0.0.1:0";
    inbox["allow_anonymous"] = true;
    inbox["pull"] = json::array({"*"});
    inbox["mailboxes"] = json::array({kCarol, "urn:agent:d*"});
    Settings settings = {{.field = "inbox", .value = inbox.dump()},
                         {.field = "tokens_file", .value = tokens_.file},
                         {.field = "added_peers.secrets_folder", .value = dir_.file("any").parent_path().string()},
                         {.field = "agent", .value = "urn:agent:hub"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
  }

  TempDir dir_;
  Tokens tokens_;
  ServeStage serve_;
  std::optional<OutboxManager> sender_;
  std::optional<InboundHandler> handler_;
  std::optional<InboundServer> server_;
};

json next(StreamReader& reader) {
  return json::parse(reader.line());
}

}  // namespace

TEST_CASE("P4 P5: messages to two agents and to the hub in sessions of one name are apart, each in its order") {
  Stage stage;
  std::vector<std::string> ids;
  for (const char* const data : {"1", "2"}) {
    for (const char* const peer : {"carol", "dave", "hub"}) {
      ids.push_back(stage.send(peer, data));
    }
  }
  StreamReader carol = stage.open(kCarolToken);
  StreamReader dave = stage.open(kDaveToken, "?mailbox=" + kDave);
  StreamReader hub = stage.open(kHubToken);
  for (const char* const number : {"1", "2"}) {
    for (const auto& [stream, token, agent] : {std::tuple(&carol, kCarolToken, kCarol),
                                               {&dave, kDaveToken, kDave},
                                               {&hub, kHubToken, std::string("urn:agent:hub")}}) {
      const json line = next(*stream);
      const json& event = line.at("event");
      CHECK(event.at("audience") == agent);
      CHECK(event.at("source") == "urn:agent:alice");
      CHECK(event.at("sessionid") == "s");
      CHECK(event.at("sessionseq") == number);
      CHECK(event.at("data").dump() == number);
      CHECK(stage.settle(token, line) == "settled");
    }
  }
  for (const std::string& id : ids) {
    CHECK(stage.endOf(id) == MessageState::acked);
  }
}

TEST_CASE("P11: a token of a mailbox takes and settles the frames of that alone, until it is another's") {
  Stage stage;
  stage.send("carol", "1");
  const auto statusOf = [&](const std::string& token, const std::string& target) {
    return stage.serve().asker().ask("GET", target, {}, bearer(token)).status;
  };
  CHECK(statusOf(kDaveToken, "/v1/inbox/stream?mailbox=" + kCarol) == 403);
  CHECK(statusOf(kDaveToken, "/v1/inbox") == 403);
  CHECK(statusOf(kHubToken, "/v1/inbox/stream?mailbox=urn:agent:erin") == 422);
  StreamReader carol = stage.open(kCarolToken);
  const json line = next(carol);
  CHECK(stage.settle(kDaveToken, line) == "gone");
  CHECK(stage.inbox("?mailbox=" + kCarol).at(0).at("state") == "running");
  stage.tokens().write(kDave);
  stage.serve().server().reload();
  CHECK(carol.hasEnded());
  CHECK(stage.settle(kHubToken, line) == "gone");
  StreamReader again = stage.open(kHubToken, "?mailbox=" + kCarol);
  CHECK(stage.settle(kHubToken, next(again)) == "settled");
}

TEST_CASE("P13: a frame in a mailbox waits for its agent, who is named, and its sender learns that") {
  Stage stage;
  const std::string id = stage.send("carol", "1");
  const json frames = stage.inboxOnce([](const json& all) { return all.size() == 1; });
  CHECK(frames.at(0).at("mailbox") == kCarol);
  CHECK(frames.at(0).at("session") == "s");
  CHECK(frames.at(0).at("state") == "unattended");
  CHECK(frames.at(0).at("waits_for") == "its agent to open a stream for its mailbox");
  CHECK(stage.inbox("?mailbox=" + kDave).empty());
  CHECK(stage.inbox("?mailbox=" + kCarol + "&session=s").size() == 1);
  CHECK(stage.inbox("?session=s").empty());
  while (stage.sender().explain(id)->sentence.find("it waits for an application") == std::string::npos) {
  }
  StreamReader carol = stage.open(kCarolToken);
  const json line = next(carol);
  CHECK(stage.inbox().at(0).at("in_hand_of").get<std::string>().find("mailbox " + kCarol) != std::string::npos);
  carol.close();
  stage.inboxOnce([](const json& all) { return all.at(0).at("state") == "unattended"; });
  CHECK(stage.settle(kCarolToken, line) == "gone");
}

TEST_CASE("P12: a full mailbox puts off what it is sent, uncharged, until its agent has fetched some") {
  Stage stage(json{{"mailbox_frames_max", 2}});
  std::vector<std::string> ids;
  for (const char* const session : {"1", "2", "3"}) {
    ids.push_back(stage.send("carol", "1", session));
    stage.inboxOnce([&](const json& all) { return all.size() == std::min<std::size_t>(ids.size(), 2); });
  }
  const std::string other = stage.send("dave", "1");
  stage.inboxOnce([](const json& all) { return all.size() == 3; });
  const auto errorOf = [&](const std::string& id) { return stage.sender().explain(id)->sentence; };
  while (errorOf(ids[2]).find("limit-mailbox") == std::string::npos) {
  }
  CHECK(stage.inbox("?mailbox=" + kCarol).size() == 2);
  CHECK(stage.sender().explain(ids[2])->message.retryCount == 0);
}

TEST_CASE("P12: a sender that fills its share of a mailbox leaves room for another") {
  Stage stage(json{{"mailbox_frames_max", 8}});
  for (std::size_t count = 1; count <= 4; ++count) {
    stage.send("carol", "1", std::to_string(count));
    stage.inboxOnce([&](const json& all) { return all.size() == count; });
  }
  const std::string last = stage.send("carol", "1", "5");
  const auto isPutOff = [&] {
    return stage.sender().explain(last)->sentence.find("limit-mailbox") != std::string::npos;
  };
  const json judged = stage.inboxOnce([&](const json& all) { return all.size() == 5 || isPutOff(); });
  REQUIRE(judged.size() == 4);
  OutboxManager other = stage.openSender("bob");
  other.enqueue({.peer = "carol", .session = "1", .type = "t", .data = "1"});
  stage.inboxOnce([](const json& all) { return all.size() == 5; });
}

TEST_CASE("P3: a frame that its agent refuses is a dead letter at its sender, and its session goes on") {
  Stage stage;
  const std::string bad = stage.send("carol", "1");
  const std::string good = stage.send("carol", "2");
  StreamReader carol = stage.open(kCarolToken);
  CHECK(stage.settle(kCarolToken, next(carol), "reject") == "settled");
  CHECK(stage.settle(kCarolToken, next(carol)) == "settled");
  CHECK(stage.endOf(good) == MessageState::acked);
  CHECK(stage.endOf(bad) == MessageState::failed);
}

TEST_CASE("P10: the code of a refusal is the reason of the dead letter, but for codes that speak of the hub itself") {
  Stage stage;
  StreamReader carol = stage.open(kCarolToken);
  const auto reasonOf = [&](const std::string& code, std::optional<WallTime> expiresAt) {
    const std::string id =
        stage.sender().enqueue({.peer = "carol", .type = "t", .data = "1", .expiresAt = expiresAt}).messageId;
    CHECK(stage.settle(kCarolToken, next(carol), "reject", code) == "settled");
    CHECK(stage.endOf(id) == MessageState::failed);
    const MessageInfo found = stage.sender().find(id).value();
    return found.reason + ": " + found.lastError;
  };
  const WallTime later = systemClock()->wallNow() + 1h;
  CHECK(reasonOf("", std::nullopt) == "rejected: not mine");
  CHECK(reasonOf("retry-budget", std::nullopt) == "retry-budget: not mine");
  CHECK(reasonOf("expired", later) == "expired: not mine");
  CHECK(reasonOf("expired", std::nullopt) == "rejected: expired: not mine");
  CHECK(reasonOf("stale-epoch", later) == "rejected: stale-epoch: not mine");
}

TEST_CASE("P12: a request takes frames for a time: what is not settled in it comes again, as another run") {
  Stage stage;
  const std::string first = stage.send("carol", "1");
  const json one = stage.take(kCarolToken, "?max=1").at(0);
  CHECK(one.at("run") == 1);
  CHECK(stage.settle(kCarolToken, one) == "settled");
  CHECK(stage.endOf(first) == MessageState::acked);
  const std::string second = stage.send("carol", "2");
  const json late = stage.take(kCarolToken, "?lease=1s&mailbox=" + kCarol).at(0);
  CHECK(late.at("run") == 1);
  CHECK(late.at("event").at("data") == 2);
  CHECK(stage.take(kDaveToken, "?wait=1s").empty());
  json again = stage.take(kCarolToken, "?max=1&wait=30s").at(0);
  CHECK(again.at("event") == late.at("event"));
  CHECK(again.at("run") == 2);
  CHECK(stage.settle(kCarolToken, late) == "gone");
  CHECK(stage.settle(kCarolToken, again) == "settled");
  CHECK(stage.endOf(second) == MessageState::acked);
  CHECK(stage.take(kCarolToken, "?wait=1s").empty());
}

TEST_CASE("P11: what a request has taken is its token's as long as the token is valid, and within limits") {
  Stage stage;
  stage.send("carol", "1");
  const json line = stage.take(kCarolToken, "?lease=10m").at(0);
  stage.tokens().write(kDave);
  stage.serve().server().reload();
  StreamReader hub = stage.open(kHubToken, "?mailbox=" + kCarol);
  const json again = next(hub);
  CHECK(again.at("run") == 2);
  CHECK(stage.settle(kHubToken, line) == "gone");
  CHECK(stage.settle(kHubToken, again) == "settled");
  const auto statusOf = [&](const std::string& query) {
    return stage.serve().asker().ask("POST", "/v1/inbox/take" + query, {}, bearer(kDaveToken)).status;
  };
  CHECK(statusOf("?mailbox=" + kCarol) == 403);
  for (const char* const query :
       {"?max=0", "?max=257", "?wait=31s", "?wait=0s", "?lease=0s", "?lease=11m", "?window=1"}) {
    CAPTURE(query);
    CHECK(statusOf(query) == 422);
  }
}

TEST_CASE("P12: a request whose frames are settled has no place of a stream any more") {
  // Alone, a token may have one of the two places.
  Stage stage({}, 50ms, {{.field = "streams_max", .value = "2"}});
  for (int number = 0; number < 3; ++number) {
    stage.send("carol", "1");
    CHECK(stage.settle(kCarolToken, stage.take(kCarolToken, "?max=1&lease=10m").at(0)) == "settled");
  }
}

TEST_CASE("P5: the outcome of a frame in a mailbox is sent to its sender at once, who believes it of a mailbox's hub") {
  Stage stage({}, 1h);
  stage.takeEvents({kCarol});
  const std::string good = stage.send("carol", "1", "good");
  StreamReader carol = stage.open(kCarolToken);
  CHECK(stage.settle(kCarolToken, next(carol)) == "settled");
  CHECK(stage.endOf(good) == MessageState::acked);
  const std::string bad = stage.send("carol", "2", "bad");
  CHECK(stage.settle(kCarolToken, next(carol), "reject") == "settled");
  CHECK(stage.endOf(bad) == MessageState::failed);
  // The sender has not said that the hub keeps this mailbox.
  const std::string other = stage.send("dave", "3");
  StreamReader dave = stage.open(kDaveToken);
  CHECK(stage.settle(kDaveToken, next(dave)) == "settled");
  while (stage.sender().getStats().refusedAcks == 0) {
  }
  CHECK(stage.sender().explain(other)->message.state == MessageState::sent);
}

TEST_CASE("a frame for an agent without a mailbox is refused, and the peer is held, as before") {
  Stage stage;
  const HttpReply reply = [&] {
    const std::string url = stage.serve().server().inboxUrl();
    testing::HttpAsker peer(static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1))));
    const json event = {{"specversion", "1.0"},        {"source", "urn:x"}, {"type", "t"}, {"id", "1"}, {"data", 1},
                        {"audience", "urn:agent:erin"}};
    return peer.ask("POST", "/inbox", event.dump(), "Content-Type: application/cloudevents+json\r\n");
  }();
  CHECK(reply.body.find("wrong-audience") != std::string::npos);
}

}  // namespace ackbox::serve::mailbox_test
