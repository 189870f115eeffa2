// Goal: frames in other forms, CloudEvents' binary mode and AGENIUM's, are taken from those who may and from nobody
// else, take effect once, and are answered in their form; AGENIUM's ACK event settles what was addressed to its sender.
// Method: requests written by hand on a socket to a real server, signed, each also altered in one way.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "protocol/signature.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::compatibility_test {
namespace {

const std::string kAliceKey = "whsec_YWxpY2UgYWxpY2UgYWxpY2UgYWxpY2UgYWxpY2U=";
const std::string kCarolKey = "whsec_Y2Fyb2wgY2Fyb2wgY2Fyb2wgY2Fyb2wgY2Fyb2w=";

SecretSource keyed(const std::string& key) {
  return SecretSource::fixed({Secret(key)});
}

struct Post {
  std::string path = "/message";
  std::string key = kAliceKey;
  std::string id = "w1";
  std::string contentType = "application/json";
  /// More headers, each line with its end.
  std::string headers = {};
  std::string body = {};
};

struct Answer {
  int status = 0;
  std::string headers;
  std::string body;
};

/// Bob, who knows Alice and Carol, and has messages for Alice.
struct Bob {
  explicit Bob(std::vector<InboundPeer> peers, std::string compatibilityPath = "/message") {
    OutboxOptions options;
    options.agent = "urn:agent:bob";
    options.peers = {
        {.name = "alice", .agent = "urn:agent:alice", .sender = testing::ScriptedSender::always(Outcome::defer)}};
    options.ackTimeout = std::chrono::hours(1);
    manager.emplace(OutboxManager::open(dir.file("bob.db"), options));
    InboundOptions inbound;
    inbound.binaryMode = true;
    inbound.allowAnonymous = peers.empty();
    inbound.peers = std::move(peers);
    inbound.deferred.handler = [this](DeferredFrame frame) {
      frame.commit([this, frame](InboundTransaction&) { return keep(frame.frame()); });
    };
    handler.emplace(
        *manager,
        [this](const InboundFrame& frame, InboundTransaction&) {
          if (frame.type == "refuse") {
            return HandlerResult::reject("never", "unwanted");
          }
          if (frame.type == "later") {
            return HandlerResult::defer();
          }
          return keep(frame);
        },
        inbound);
    InboundServerOptions server;
    server.compatibilityPath = std::move(compatibilityPath);
    server_.emplace(pool_.get_executor(), *handler, server);
  }
  ~Bob() {
    server_.reset();
    pool_.join();
  }
  Bob(const Bob&) = delete;
  Bob& operator=(const Bob&) = delete;

  HandlerResult keep(const InboundFrame& frame) {
    const std::scoped_lock lock(mutex_);
    heard_.push_back(frame);
    return HandlerResult::ack("{\"seen\":true}");
  }
  std::vector<InboundFrame> heard() {
    const std::scoped_lock lock(mutex_);
    return heard_;
  }
  Answer post(const Post& post) {
    std::string request = "POST " + post.path + " HTTP/1.1\r\nHost: localhost\r\n";
    if (!post.contentType.empty()) {
      request += "content-type: " + post.contentType + "\r\n";
    }
    if (!post.key.empty()) {
      const protocol::SignatureHeaders headers =
          protocol::KeyRing(keyed(post.key).load()).sign(post.id, post.body, systemClock()->wallNow());
      request += "webhook-id: " + headers.id + "\r\nwebhook-timestamp: " + headers.timestamp +
                 "\r\nwebhook-signature: " + headers.signature + "\r\n";
    }
    request += post.headers + "content-length: " + std::to_string(post.body.size()) + "\r\n\r\n" + post.body;
    testing::RawConnection connection(server_->port());
    connection.send(request);
    const std::string message = connection.receiveMessage();
    const std::size_t end = message.find("\r\n\r\n");
    return {std::stoi(message.substr(9, 3)), message.substr(0, end), message.substr(end + 4)};
  }
  /// A message to Alice that waits for its ACK event.
  std::string owing() {
    Frame frame;
    frame.peer = "alice";
    frame.type = "question";
    const std::string id = manager->enqueue(frame).messageId;
    manager->drainOnce();
    CHECK(manager->find(id)->state == MessageState::sent);
    return id;
  }

  testing::TempDir dir;
  std::optional<OutboxManager> manager;
  std::optional<InboundHandler> handler;

private:
  boost::asio::thread_pool pool_{1};
  std::optional<InboundServer> server_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<InboundFrame> heard_;
};

std::vector<InboundPeer> aliceAndCarol() {
  return {{.agents = {"urn:agent:alice", "urn:agent:alice:office"}, .secrets = keyed(kAliceKey)},
          {.agents = {"urn:agent:carol"}, .secrets = keyed(kCarolKey)}};
}

std::string agenium(const std::string& id, const std::string& payload, const std::string& session = "s1") {
  return R"({"version":"1.0","messageId":")" + id + R"(","type":"EVENT","sessionId":")" + session +
         R"(","timestamp":1795281634423,"payload":)" + payload + "}";
}

Post agEvent(const std::string& id, const std::string& name = "said", const std::string& session = "s1") {
  return {.body = agenium(id, R"({"event":")" + name + R"(","data":{"n":1}})", session)};
}

Post agAck(const std::string& id, const std::string& message) {
  return {.body = agenium(id, R"({"event":"ACK","data":{"msgId":")" + message + R"("}})")};
}

Post binary(const std::string& id, const std::string& body = R"({"n":1})") {
  return {.path = "/inbox",
          .id = id,
          .headers = "CE-specversion: 1.0\r\nce-id: " + id + "\r\nce-source: urn:agent:alice\r\nCe-Type: said\r\n",
          .body = body};
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("An event in binary mode takes effect once and is answered as a single frame, signed") {
  Bob bob(aliceAndCarol());
  const Answer answer = bob.post(binary("e1", " {\"n\": 1} "));
  CHECK(answer.status == 200);
  CHECK(answer.headers.find("webhook-id: re_e1") != std::string::npos);
  const auto document = nlohmann::json::parse(answer.body);
  CHECK(document.at("delivery") == "e1");
  CHECK(document.at("results").at(0).at("id") == "e1");
  CHECK(document.at("results").at(0).at("outcome") == "ack");
  const Answer again = bob.post(binary("e1", " {\"n\": 1} "));
  CHECK(again.status == 200);
  CHECK(nlohmann::json::parse(again.body).at("results").at(0).at("duplicate") == true);
  REQUIRE(bob.heard().size() == 1);
  CHECK(bob.heard()[0].source == "urn:agent:alice");
  CHECK(bob.heard()[0].type == "said");
  CHECK(bob.heard()[0].data == "{\"n\": 1}");

  Post refused = binary("e2");
  refused.headers = replaced(refused.headers, "said", "refuse");
  CHECK(bob.post(refused).status == 422);
}

TEST_CASE("P11: an event in binary mode is refused without proof, under another's name, and under another id") {
  Bob bob(aliceAndCarol());
  Post unsignedOne = binary("e1");
  unsignedOne.key.clear();
  CHECK(bob.post(unsignedOne).status == 401);
  Post another = binary("e1");
  another.key = kCarolKey;
  CHECK(bob.post(another).status == 403);
  // The same signed body as another event: headers are not under the signature, so the id must be the signed one.
  Post replayed = binary("e1");
  replayed.headers = replaced(replayed.headers, "ce-id: e1", "ce-id: e2");
  CHECK(bob.post(replayed).status == 422);
  Post twice = binary("e1");
  twice.headers += "ce-id: e2\r\n";
  CHECK(bob.post(twice).status == 422);
  Post event = binary("e1", R"({"results":[{"id":")" + bob.owing() + R"(","outcome":"ack"}]})");
  event.headers = replaced(event.headers, "said", "ackbox.ack.v1");
  CHECK(bob.post(event).status == 422);
  CHECK(bob.manager->getStats().acked == 0);
  CHECK(bob.heard().empty());
}

TEST_CASE("Data that is no JSON keeps its bytes and its type, also through the inbox of deferred frames") {
  Bob bob(aliceAndCarol());
  for (const std::string type : {"said", "later"}) {
    Post post = binary(type, std::string("\x00\xFFhi", 4));
    post.contentType = "image/x-thing";
    post.headers = replaced(post.headers, "said", type);
    CHECK(bob.post(post).status == (type == "said" ? 200 : 202));
  }
  while (bob.heard().size() < 2) {
    std::this_thread::yield();
  }
  for (const InboundFrame& frame : bob.heard()) {
    CHECK(frame.data == "\"AP9oaQ==\"");
    CHECK(frame.dataContentType == "image/x-thing");
  }
}

TEST_CASE("row 9: an AGENIUM frame takes effect once per session and id, and is answered in AGENIUM's form") {
  Bob bob(aliceAndCarol());
  const Answer first = bob.post(agEvent("m1"));
  CHECK(first.status == 200);
  CHECK(first.body == R"({"ok":true})");
  CHECK(bob.post(agEvent("m1")).body == R"({"ok":true,"duplicate":true})");
  CHECK(bob.post(agEvent("m1", "said", "s2")).body == R"({"ok":true})");
  CHECK(bob.post(agEvent("m2", "refuse")).body == R"({"ok":false,"error":"unwanted","detail":"never"})");
  CHECK(bob.post({.body = "{}"}).status == 422);
  CHECK(bob.post({.body = "{"}).status == 400);
  const std::vector<InboundFrame> heard = bob.heard();
  REQUIRE(heard.size() == 2);
  CHECK(heard[0].source == "urn:agent:alice");
  CHECK(heard[0].session == "s1");
  CHECK(heard[0].type == "said");
  CHECK(heard[0].data == R"({"event":"said","data":{"n":1}})");
  CHECK(heard[1].session == "s2");
  CHECK(bob.manager->getStats().duplicates == 1);
  CHECK(OutboxReader(*bob.manager).verify().clean());
}

TEST_CASE("row 9: a deferred AGENIUM frame is a duplicate while it waits, and takes effect once") {
  Bob bob(aliceAndCarol());
  CHECK(bob.post(agEvent("m1", "later")).body == R"({"ok":true})");
  CHECK(bob.post(agEvent("m1", "later")).body == R"({"ok":true,"duplicate":true})");
  while (bob.manager->getStats().inbox > 0) {
    std::this_thread::yield();
  }
  CHECK(bob.post(agEvent("m1", "later")).body == R"({"ok":true,"duplicate":true})");
  CHECK(bob.heard().size() == 1);
}

TEST_CASE("P11: the compatibility path is closed by default and asks for the same proof as the other") {
  Bob closed(aliceAndCarol(), "");
  CHECK(closed.post(agEvent("m1")).status == 404);
  Bob bob(aliceAndCarol());
  Post post = agEvent("m1");
  post.key.clear();
  CHECK(bob.post(post).status == 401);
  post.headers = "webhook-id: w1\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,AAAA\r\n";
  CHECK(bob.post(post).status == 401);
  Post claimed = agEvent("m1");
  claimed.key = kCarolKey;
  claimed.headers = "outbox-agent: urn:agent:alice\r\n";
  CHECK(bob.post(claimed).status == 401);
  // The inbox does not take this form, nor this path the other.
  Post elsewhere = agEvent("m1");
  elsewhere.path = "/inbox";
  CHECK(bob.post(elsewhere).status == 415);
  Post event = binary("e1");
  event.path = "/message";
  CHECK(bob.post(event).status == 422);
  CHECK(bob.heard().empty());

  // A header is not signed: it does not choose among a peer's names.
  Post office = agEvent("m1");
  office.headers = "outbox-agent: urn:agent:alice:office\r\n";
  CHECK(bob.post(office).status == 200);
  CHECK(bob.heard().at(0).source == "urn:agent:alice");
}

TEST_CASE("P11: rights and sessions bind AGENIUM's frames; an anonymous one takes nobody's name") {
  std::vector<InboundPeer> peers = aliceAndCarol();
  peers[0].sessions = {"s1"};
  peers[0].mayAck = false;
  peers[1].maySend = false;
  Bob bob(peers);
  CHECK(bob.post(agEvent("m1")).status == 200);
  CHECK(
      bob.post(agEvent("m2", "said", "s2")).body.starts_with(R"({"ok":false,"error":"session-not-allowed","detail":)"));
  CHECK(bob.post(agAck("a1", "x")).status == 403);
  Post carols = agEvent("m3");
  carols.key = kCarolKey;
  CHECK(bob.post(carols).status == 403);
  CHECK(bob.heard().size() == 1);

  Bob open({});
  Post nobody = agEvent("m1");
  nobody.key.clear();
  CHECK(open.post(nobody).status == 200);
  nobody.headers = "outbox-agent: urn:agent:dave\r\n";
  CHECK(open.post(nobody).status == 200);
  REQUIRE(open.heard().size() == 2);
  CHECK(open.heard()[0].source == "urn:ackbox:anonymous");
  CHECK(open.heard()[1].source == "urn:agent:dave");
}

TEST_CASE("P11: the ACK event of somebody who proves nothing settles nothing, whose name it may bear, and is counted") {
  Bob bob({});
  const std::string id = bob.owing();
  Post word = agAck("a1", id);
  word.key.clear();
  word.headers = "outbox-agent: urn:agent:alice\r\n";
  CHECK(bob.post(word).body == R"({"ok":true})");
  Post event{.path = "/inbox", .contentType = "application/cloudevents+json"};
  event.key.clear();
  event.body = R"({"specversion":"1.0","id":"e1","source":"urn:agent:alice","type":"ackbox.ack.v1","data":)"
               R"({"results":[{"id":")" +
               id + R"(","outcome":"term"}]}})";
  CHECK(bob.post(event).status == 200);
  CHECK(bob.manager->find(id)->state == MessageState::sent);
  CHECK(bob.manager->getStats().refusedAcks == 2);
}

TEST_CASE("row 9: defect 8: AGENIUM's ACK event settles only messages that were addressed to its sender, once") {
  Bob bob(aliceAndCarol());
  const std::string id = bob.owing();
  Post wrong = agAck("a1", id);
  wrong.key = kCarolKey;
  CHECK(bob.post(wrong).body == R"({"ok":true})");
  CHECK(bob.manager->find(id)->state == MessageState::sent);
  CHECK(bob.manager->getStats().refusedAcks == 1);
  CHECK(bob.post(agAck("a2", "never-heard-of")).body == R"({"ok":true})");
  CHECK(bob.manager->getStats().acked == 0);

  CHECK(bob.post(agAck("a3", id)).body == R"({"ok":true})");
  CHECK_FALSE(bob.manager->find(id));
  CHECK(bob.manager->getStats().acked == 1);
  CHECK(bob.post(agAck("a3", id)).body == R"({"ok":true,"duplicate":true})");
  CHECK(bob.post(agAck("a4", id)).body == R"({"ok":true})");
  CHECK(bob.manager->getStats().acked == 1);
  CHECK(bob.heard().empty());
  CHECK(OutboxReader(*bob.manager).verify().clean());
}

}  // namespace ackbox::compatibility_test
