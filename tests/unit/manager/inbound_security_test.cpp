// Goal: P11 at the receiver: who proves nobody changes nothing and learns nothing; who is known does only what is its
// own. Method: signed requests as bytes against a real file, each altered in one way; the handler counts its calls.

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "protocol/inbound_port.hpp"
#include "protocol/signature.hpp"
#include "protocol/wire.hpp"
#include "support/inbound_request.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::inbound_security_test {
namespace {

using nlohmann::json;

const std::string kAliceKey = "whsec_YWxpY2UgYWxpY2UgYWxpY2UgYWxpY2UgYWxpY2U=";
const std::string kAgeniumPath = "/message";
const std::string kCarolKey = "whsec_Y2Fyb2wgY2Fyb2wgY2Fyb2wgY2Fyb2wgY2Fyb2w=";

SecretSource secretsOf(const std::vector<std::string>& texts) {
  std::vector<Secret> secrets;
  for (const std::string& text : texts) {
    secrets.emplace_back(text);
  }
  return SecretSource::fixed(std::move(secrets));
}

protocol::KeyRing ringOf(const std::string& text) {
  return protocol::KeyRing(secretsOf({text}).load());
}

std::vector<InboundPeer> aliceAndCarol() {
  return {{.agents = {"urn:agent:alice", "urn:agent:alice:office"}, .secrets = secretsOf({kAliceKey})},
          {.agents = {"urn:agent:carol"}, .secrets = secretsOf({kCarolKey})}};
}

struct Receiver {
  explicit Receiver(InboundOptions inbound) {
    OutboxOptions options;
    options.agent = "urn:agent:bob";
    options.clock = clock;
    manager.emplace(OutboxManager::open(dir.file("bob.db"), options));
    handler.emplace(
        *manager,
        [this](const InboundFrame&, InboundTransaction&) {
          ++calls;
          return HandlerResult::ack();
        },
        std::move(inbound));
  }

  InboundResponse post(InboundRequest request) { return testing::answerTo(*handler, std::move(request), kAgeniumPath); }

  /// What is being written at this moment may count twice.
  void awaitTotal(std::uint64_t Stats::*total, std::uint64_t expected) const {
    std::uint64_t counted = manager->getStats().*total;
    for (; counted > expected; counted = manager->getStats().*total) {
      std::this_thread::yield();
    }
    CHECK(counted == expected);
  }

  testing::TempDir dir;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  std::optional<OutboxManager> manager;
  std::atomic<int> calls = 0;
  std::optional<InboundHandler> handler;
};

InboundRequest requestFrom(const std::string& source, const std::string& type = "test.said",
                           const std::string& session = "s", const std::string& origin = "origin-1") {
  SendRequest request = testing::sendRequest({testing::outboundFrame(session, 1, type)});
  request.agent = source;
  request.origin = origin;
  request.frames.front().messageId = "message-1";
  InboundRequest made = testing::inboundRequest(request);
  made.claimedAgent = source;
  return made;
}

InboundRequest signedWith(const std::string& key, InboundRequest request, WallTime now) {
  const protocol::SignatureHeaders headers = ringOf(key).sign(request.webhookId, request.body, now);
  request.webhookTimestamp = headers.timestamp;
  request.webhookSignature = headers.signature;
  return request;
}

std::string headerOf(const InboundResponse& response, const std::string& name) {
  for (const auto& [each, value] : response.headers) {
    if (each == name) {
      return value;
    }
  }
  return {};
}

protocol::SignatureHeaders signatureOf(const InboundResponse& response) {
  return {headerOf(response, "webhook-id"), headerOf(response, "webhook-timestamp"),
          headerOf(response, "webhook-signature")};
}

TEST_CASE("P11: a signed request takes effect, and its answer is signed as an answer and never passes for a request") {
  Receiver bob({.peers = aliceAndCarol()});
  const InboundRequest request = signedWith(kAliceKey, requestFrom("urn:agent:alice"), bob.clock->wallNow());
  const InboundResponse response = bob.post(request);
  CHECK(response.status == 200);
  CHECK(bob.calls == 1);
  const protocol::SignatureHeaders signature = signatureOf(response);
  CHECK(signature.id == "re_message-1");
  CHECK(ringOf(kAliceKey).verify(signature, response.body, bob.clock->wallNow()) == protocol::SignatureVerdict::valid);
  CHECK(ringOf(kCarolKey).verify(signature, response.body, bob.clock->wallNow()) != protocol::SignatureVerdict::valid);

  // The answer played back to its author.
  InboundRequest reflected{"application/cloudevents+json", response.body, signature.id, signature.timestamp,
                           signature.signature};
  CHECK(bob.post(reflected).status == 401);
}

TEST_CASE(
    "P11: each refusal is told with its reason to the receiver's program, once a minute, and to the sender never") {
  std::vector<InboundRefusal> refusals;
  InboundOptions inbound{.peers = aliceAndCarol()};
  inbound.peers[1].maySend = false;
  inbound.onRefused = [&refusals](const InboundRefusal& refusal) { refusals.push_back(refusal); };
  Receiver bob(inbound);
  const WallTime now = bob.clock->wallNow();
  const auto refused = [&](const InboundRequest& request) {
    refusals.clear();
    const int status = bob.post(request).status;
    REQUIRE(refusals.size() == 1);
    return std::to_string(status) + " " + std::string(toString(refusals[0].reason)) + " " + refusals[0].agent + " " +
           std::to_string(refusals[0].skew.count());
  };
  const InboundRequest alice = requestFrom("urn:agent:alice");
  CHECK(refused(alice) == "401 not-signed urn:agent:alice 0");
  CHECK(refused(signedWith(kCarolKey, alice, now)) == "401 wrong-key urn:agent:alice 0");
  CHECK(refused(signedWith(kAliceKey, alice, now + std::chrono::seconds(600))) ==
        "401 clock-apart urn:agent:alice 600");
  InboundRequest malformed = signedWith(kAliceKey, alice, now);
  malformed.webhookTimestamp = "noon";
  CHECK(refused(malformed) == "401 malformed-signature urn:agent:alice 0");
  CHECK(refused(signedWith(kAliceKey, requestFrom("urn:agent:mallory"), now)) ==
        "401 unknown-agent urn:agent:mallory 0");
  CHECK(refused(signedWith(kCarolKey, requestFrom("urn:agent:carol"), now)) == "403 not-allowed urn:agent:carol 0");

  refusals.clear();
  CHECK(bob.post(signedWith(kAliceKey, alice, now - std::chrono::seconds(600))).status == 401);
  CHECK(refusals.empty());
  bob.clock->advance(std::chrono::minutes(1));
  CHECK(refused(signedWith(kAliceKey, alice, now - std::chrono::seconds(600))) ==
        "401 clock-apart urn:agent:alice -660");
}

TEST_CASE("a handler to which nobody may send, or a peer that may do nothing, is refused at once") {
  CHECK_THROWS_WITH_AS(Receiver{InboundOptions()},
                       doctest::Contains("peers: nobody may send to it; list who may, or set `allowAnonymous`"), Error);
  InboundOptions inbound{.peers = aliceAndCarol()};
  inbound.peers[1].maySend = false;
  inbound.peers[1].mayAck = false;
  CHECK_THROWS_WITH_AS(Receiver{inbound}, doctest::Contains("peers[1].maySend: this peer may do nothing"), Error);
}

TEST_CASE(
    "hostile: a request unsigned, altered, late, or under another's name or key: 401 with the same words, nothing "
    "happens") {
  Receiver bob({.peers = aliceAndCarol()});
  const WallTime now = bob.clock->wallNow();
  const InboundRequest good = signedWith(kAliceKey, requestFrom("urn:agent:alice"), now);
  struct Tampering {
    const char* what;
    std::function<void(InboundRequest&)> apply;
  };
  const std::vector<Tampering> tamperings = {
      {"no signature", [](InboundRequest& r) { r.webhookSignature.clear(); }},
      {"no headers at all",
       [](InboundRequest& r) {
         r = {r.contentType, r.body, ""};
       }},
      {"another body", [](InboundRequest& r) { r.body += " "; }},
      {"no JSON and no signature for it", [](InboundRequest& r) { r.body = "["; }},
      {"another id", [](InboundRequest& r) { r.webhookId = "message-2"; }},
      {"another time", [](InboundRequest& r) { r.webhookTimestamp += "0"; }},
      {"signed too long ago",
       [&](InboundRequest& r) { r = signedWith(kAliceKey, r, now - std::chrono::seconds(301)); }},
      {"signed in the future",
       [&](InboundRequest& r) { r = signedWith(kAliceKey, r, now + std::chrono::seconds(301)); }},
      {"signed with another peer's key", [&](InboundRequest& r) { r = signedWith(kCarolKey, r, now); }},
      {"said to come from somebody else", [](InboundRequest& r) { r.claimedAgent = "urn:agent:carol"; }},
      {"said to come from a stranger", [](InboundRequest& r) { r.claimedAgent = "urn:agent:mallory"; }},
  };
  std::optional<std::string> words;
  for (const Tampering& tampering : tamperings) {
    CAPTURE(tampering.what);
    InboundRequest request = good;
    tampering.apply(request);
    const InboundResponse response = bob.post(request);
    CHECK(response.status == 401);
    CHECK(headerOf(response, "www-authenticate") == "StandardWebhooks");
    CHECK(headerOf(response, "webhook-signature").empty());
    CHECK(words.value_or(response.body) == response.body);
    words = response.body;
  }
  CHECK(bob.calls == 0);
  bob.awaitTotal(&Stats::refusedUnauthenticated, tamperings.size());
  CHECK(bob.post(good).status == 200);
}

TEST_CASE("P11: a peer that claims another's name is refused as a whole, and counted") {
  Receiver bob({.peers = aliceAndCarol()});
  InboundRequest request = requestFrom("urn:agent:carol");
  request.claimedAgent = "urn:agent:alice";
  const InboundResponse response = bob.post(signedWith(kAliceKey, request, bob.clock->wallNow()));
  CHECK(response.status == 403);
  CHECK(response.contentType == "application/problem+json");
  CHECK_FALSE(headerOf(response, "webhook-signature").empty());
  CHECK(bob.calls == 0);
  bob.awaitTotal(&Stats::refusedForbidden, 1);
  CHECK(bob.post(signedWith(kAliceKey, requestFrom("urn:agent:alice:office"), bob.clock->wallNow())).status == 200);
  // In the file, too.
  bob.handler.reset();
  bob.manager.reset();
  CHECK(OutboxReader::open(bob.dir.file("bob.db")).getStats().refusedForbidden == 1);
}

TEST_CASE("P11: rights to send, to acknowledge, and to sessions are each held") {
  std::vector<InboundPeer> peers = aliceAndCarol();
  peers[0].maySend = false;
  peers[1].mayAck = false;
  peers[1].sessions = {"orders"};
  Receiver bob({.peers = peers});
  const auto status = [&](const std::string& key, const InboundRequest& request) {
    return bob.post(signedWith(key, request, bob.clock->wallNow())).status;
  };
  CHECK(status(kAliceKey, requestFrom("urn:agent:alice")) == 403);
  CHECK(status(kAliceKey, requestFrom("urn:agent:alice", "ackbox.ack.v1")) != 403);
  CHECK(status(kCarolKey, requestFrom("urn:agent:carol", "ackbox.ack.v1", "orders")) == 403);
  CHECK(status(kCarolKey, requestFrom("urn:agent:carol", "test.said", "orders")) == 200);
  const InboundResponse other =
      bob.post(signedWith(kCarolKey, requestFrom("urn:agent:carol", "test.said", "gossip"), bob.clock->wallNow()));
  CHECK(other.status == 422);
  CHECK(json::parse(other.body)["results"][0]["code"] == "session-not-allowed");
  CHECK(json::parse(other.body)["results"][0]["detail"].get<std::string>().find("InboundPeer::sessions") !=
        std::string::npos);
  bob.awaitTotal(&Stats::refusedForbidden, 3);
}

TEST_CASE("P11: anonymous senders are refused unless they are asked for, and then are nobody who is known") {
  Receiver closed({.peers = aliceAndCarol()});
  CHECK(closed.post(requestFrom("urn:agent:passerby")).status == 401);
  CHECK(closed.calls == 0);

  Receiver open({.peers = aliceAndCarol(), .allowAnonymous = true});
  CHECK(open.post(requestFrom("urn:agent:passerby")).status == 200);
  CHECK(open.post(requestFrom("urn:agent:alice")).status == 401);
  CHECK(open.post(signedWith(kCarolKey, requestFrom("urn:agent:passerby"), open.clock->wallNow())).status == 401);
  CHECK(open.calls == 1);
}

TEST_CASE("P11: a web page makes nobody's browser speak for it: what browsers send unsigned is refused, and counted") {
  Receiver open({.allowAnonymous = true});
  const auto status = [&](const std::function<void(InboundRequest&)>& change) {
    InboundRequest request = requestFrom("urn:agent:passerby");
    change(request);
    return open.post(request).status;
  };
  CHECK(status([](InboundRequest& r) { r.fromBrowser = true; }) == 403);
  CHECK(status([](InboundRequest& r) { r.contentType.clear(); }) == 415);
  CHECK(status([](InboundRequest& r) {
          r.contentType.clear();
          r.target = kAgeniumPath;
        }) == 415);
  for (const char* host :
       {"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1evil",
        "127.1", "127.0.0.256", "127.0.0.1.1", "[::1]evil", "[::2]", "10.0.0.1", "localhos", ":8080", "127."}) {
    CAPTURE(host);
    CHECK(status([&](InboundRequest& r) {
            r.onLoopback = true;
            r.host = host;
          }) == 403);
  }
  CHECK(open.calls == 0);
  open.awaitTotal(&Stats::refusedForbidden, 17);
  for (const char* host : {"localhost", "LocalHost:8080", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8080", ""}) {
    CAPTURE(host);
    CHECK(status([&](InboundRequest& r) {
            r.onLoopback = true;
            r.host = host;
          }) == 200);
  }
  CHECK(status([](InboundRequest& r) { r.host = "bob.example"; }) == 200);

  // A signature is more than any page can make.
  Receiver closed({.peers = aliceAndCarol()});
  InboundRequest request = signedWith(kAliceKey, requestFrom("urn:agent:alice"), closed.clock->wallNow());
  request.fromBrowser = true;
  request.onLoopback = true;
  request.host = "alice.example";
  CHECK(closed.post(request).status == 200);
}

TEST_CASE("P11: a frame outside sessions is none of a peer that is bound to some, unless an empty name is listed") {
  const auto fate = [](const std::vector<std::string>& sessions, const std::string& event) {
    std::vector<InboundPeer> peers = aliceAndCarol();
    peers[0].sessions = sessions;
    Receiver bob({.peers = peers});
    InboundRequest request{"application/cloudevents+json", event, "m1"};
    const InboundResponse response = bob.post(signedWith(kAliceKey, request, bob.clock->wallNow()));
    CHECK(bob.calls == (response.status == 200 ? 1 : 0));
    return response.status;
  };
  const std::string outside = R"({"specversion":"1.0","id":"m1","source":"urn:agent:alice","type":"t"})";
  const std::string nameless = R"({"specversion":"1.0","id":"m1","source":"urn:agent:alice","type":"t",)"
                               R"("sessionorigin":"o","sessionepoch":"1","sessionseq":"1","sessionprev":"0"})";
  for (const std::string& event : {outside, nameless}) {
    CHECK(fate({}, event) == 200);
    CHECK(fate({"orders"}, event) == 422);
    CHECK(fate({"orders", ""}, event) == 200);
  }
}

TEST_CASE("P11: a mark outlives the signature that it keeps from taking effect twice") {
  for (const auto& [retention, isAllowed] :
       {std::pair(std::chrono::milliseconds(1000), false), std::pair(std::chrono::milliseconds(600'999), false),
        std::pair(std::chrono::milliseconds(601'000), true)}) {
    InboundOptions options{.peers = aliceAndCarol()};
    options.processedRetention = retention;
    CAPTURE(options.processedRetention.count());
    if (isAllowed) {
      CHECK_NOTHROW(Receiver{options});
    } else {
      CHECK_THROWS_WITH_AS(Receiver{options}, doctest::Contains("allowed: at least 601s"), Error);
    }
  }
  // Signed by a clock that is ahead, taken at the first moment and again at the last.
  InboundOptions options{.peers = aliceAndCarol()};
  options.processedRetention = std::chrono::seconds(601);
  Receiver bob(options);
  const WallTime ahead = bob.clock->wallNow() + std::chrono::seconds(300);
  const auto event = [&](const std::string& id) {
    return InboundRequest{"application/cloudevents+json",
                          R"({"specversion":"1.0","id":")" + id + R"(","source":"urn:agent:alice","type":"t"})", id};
  };
  const InboundRequest request = signedWith(kAliceKey, event("m1"), ahead);
  CHECK(bob.post(request).status == 200);
  bob.clock->advance(std::chrono::milliseconds(600'999));
  // Marks are purged with those that follow.
  CHECK(bob.post(signedWith(kAliceKey, event("m2"), bob.clock->wallNow())).status == 200);
  const json again = json::parse(bob.post(request).body);
  CHECK(again["results"][0].value("duplicate", false));
  CHECK(bob.calls == 2);
}

TEST_CASE("P11: secrets that end while the agent runs end the peer, which is told; a grace out of range is refused") {
  const testing::TempDir dir;
  const auto write = [&](const std::string& text) { std::ofstream(dir.file("keys"), std::ios::trunc) << text; };
  std::vector<std::string> told;
  const auto options = [&](std::chrono::milliseconds grace) {
    InboundOptions made;
    made.peers = {{.agents = {"urn:agent:alice"}, .secrets = SecretSource::file(dir.file("keys"))}};
    made.secretsGrace = grace;
    made.onSecretsLost = [&](std::string_view agent, std::string_view what) {
      told.push_back(std::string(agent) + ": " + std::string(what));
    };
    return made;
  };
  write(kAliceKey);
  CHECK_THROWS_WITH_AS(Receiver{options(std::chrono::milliseconds(-1))}, doctest::Contains("secretsGrace"), Error);
  CHECK_THROWS_WITH_AS(Receiver{options(std::chrono::hours(25))}, doctest::Contains("secretsGrace"), Error);
  Receiver bob(options(std::chrono::seconds(30)));
  const auto status = [&] {
    return bob.post(signedWith(kAliceKey, requestFrom("urn:agent:alice"), bob.clock->wallNow())).status;
  };
  CHECK(status() == 200);
  std::filesystem::remove(dir.file("keys"));
  bob.clock->advance(std::chrono::seconds(29));
  CHECK(status() == 200);
  bob.clock->advance(std::chrono::seconds(1));
  CHECK(status() == 401);
  CHECK(told.size() == 2);
  CHECK((told.empty() || told.front().starts_with("urn:agent:alice: ")));
  write(kAliceKey);
  bob.clock->advance(std::chrono::seconds(1));
  CHECK(status() == 200);
  write("");
  bob.clock->advance(std::chrono::seconds(1));
  CHECK(status() == 401);
  CHECK(told.size() == 3);
}

TEST_CASE("A certificate that names a peer is a proof where that was asked for, and nowhere else") {
  std::vector<InboundPeer> peers = aliceAndCarol();
  peers[0].byCertificate = true;
  peers.push_back({.agents = {"urn:agent:dave"}, .byCertificate = true});
  Receiver bob({.peers = peers});
  const auto status = [&](const std::string& certificate, const std::string& source) {
    InboundRequest request = requestFrom(source);
    request.certificateAgents = {"urn:unrelated", certificate};
    return bob.post(request).status;
  };
  CHECK(status("urn:agent:dave", "urn:agent:dave") == 200);
  CHECK(status("urn:agent:alice", "urn:agent:alice") == 200);
  CHECK(status("urn:agent:carol", "urn:agent:carol") == 401);
  CHECK(status("urn:agent:dave", "urn:agent:alice") == 403);
  CHECK(status("urn:agent:mallory", "urn:agent:dave") == 401);
  // A message that names no source is of the certificate's peer, whatever its request claims.
  const auto claiming = [&](const std::string& claimed) {
    InboundRequest request = requestFrom("urn:agent:dave");
    request.certificateAgents = {"urn:agent:dave"};
    request.claimedAgent = claimed;
    request.target = kAgeniumPath;
    request.contentType = "application/json";
    request.body = R"({"version":"1.0","messageId":"019a0000-0000-7000-8000-000000000004","type":"EVENT",)"
                   R"("sessionId":"orders","timestamp":1700000000000,"payload":{"event":"order.placed","data":{}}})";
    return bob.post(request).status;
  };
  CHECK(claiming("urn:agent:dave") == 200);
  CHECK(claiming("urn:agent:alice") == 200);
}

TEST_CASE("P11: a mailbox's word is a proof of the peers for which that was asked, and of what they may do alone") {
  std::vector<InboundPeer> peers = aliceAndCarol();
  peers[0].byMailbox = true;
  peers.push_back({.agents = {"urn:agent:dave"}, .byMailbox = true, .maySend = false});
  Receiver bob({.peers = peers});
  const auto statusOf = [&](const std::string& fetchedFrom, const std::string& source) {
    InboundRequest request = requestFrom(source);
    request.fetchedFrom = fetchedFrom;
    return bob.post(request).status;
  };
  CHECK(statusOf("urn:agent:alice", "urn:agent:alice") == 200);
  // Without the mailbox's word, with another source, with keys of its own, unknown, and without the right.
  CHECK(statusOf("", "urn:agent:alice") == 401);
  CHECK(statusOf("urn:agent:alice", "urn:agent:carol") == 403);
  CHECK(statusOf("urn:agent:carol", "urn:agent:carol") == 401);
  CHECK(statusOf("urn:agent:mallory", "urn:agent:mallory") == 401);
  CHECK(statusOf("urn:agent:dave", "urn:agent:dave") == 403);
}

TEST_CASE("hostile: requests that name nobody: the keys of all peers are tried, up to a number that is not expensive") {
  Receiver few({.peers = aliceAndCarol()});
  InboundRequest request = requestFrom("urn:agent:carol");
  request.claimedAgent.clear();
  CHECK(few.post(signedWith(kCarolKey, request, few.clock->wallNow())).status == 200);

  std::vector<InboundPeer> peers = aliceAndCarol();
  for (int index = 0; index < 31; ++index) {
    peers.push_back({.agents = {"urn:agent:" + std::to_string(index)}, .secrets = secretsOf({kAliceKey})});
  }
  Receiver many({.peers = peers});
  CHECK(many.post(signedWith(kCarolKey, request, many.clock->wallNow())).status == 401);
  request.claimedAgent = "urn:agent:carol";
  CHECK(many.post(signedWith(kCarolKey, request, many.clock->wallNow())).status == 200);

  // Eight keys over 600,000 bytes are more work than is done for nobody, and over 400,000 they are not.
  peers.resize(8);
  Receiver eight({.peers = peers});
  for (const auto& [bytes, expected] : {std::pair(std::size_t{600'000}, 401), std::pair(std::size_t{400'000}, 200)}) {
    request = requestFrom("urn:agent:carol");
    request.body.insert(request.body.size() - 1, R"(,"unknown":")" + std::string(bytes, 'x') + '"');
    request.claimedAgent.clear();
    CHECK(eight.post(signedWith(kCarolKey, request, eight.clock->wallNow())).status == expected);
    request.claimedAgent = "urn:agent:carol";
    CHECK(eight.post(signedWith(kCarolKey, request, eight.clock->wallNow())).status == 200);
  }
}

TEST_CASE("hostile: a signed body beyond the limit: 413 before its signature costs anything") {
  Receiver bob({.frameBytesMax = 1000, .bodyBytesMax = 10'000, .peers = aliceAndCarol()});
  InboundRequest request = requestFrom("urn:agent:alice");
  request.body = std::string(10'001, '[');
  CHECK(bob.post(request).status == 413);
}

TEST_CASE("hostile: a flood of requests that prove nobody: counted without a commit for each, and none is lost") {
  Receiver bob({.peers = aliceAndCarol()});
  for (int count = 0; count < 500; ++count) {
    bob.post(requestFrom("urn:agent:alice"));
  }
  bob.awaitTotal(&Stats::refusedUnauthenticated, 500);
  const auto stored = [&] { return OutboxManager::open(bob.dir.file("bob.db"), {}).getStats().refusedUnauthenticated; };
  while (stored() != 1) {
    std::this_thread::yield();
  }
  // The rest a second later, also while nobody comes any more.
  for (std::uint64_t total = 500; total <= 510; total += 5) {
    bob.clock->advance(std::chrono::seconds(1));
    int looks = 0;
    while (stored() != total) {
      REQUIRE(++looks < 2'000);
      std::this_thread::yield();
    }
    bob.awaitTotal(&Stats::refusedUnauthenticated, total);
    for (int count = 0; count < 5; ++count) {
      bob.post(requestFrom("urn:agent:alice"));
    }
    CHECK(stored() <= total + 1);
  }
}

/// A clock whose first alarm throws when it is set.
struct ThrowingClock final : Clock {
  struct ThrowingAlarm final : Alarm {
    ThrowingAlarm(ThrowingClock& owner, std::unique_ptr<Alarm> wrapped) : clock(owner), alarm(std::move(wrapped)) {}
    void set(SteadyTime deadline, std::function<void()> wake) override {
      if (!clock.hasThrown.exchange(true)) {
        throw std::runtime_error("no timer");
      }
      alarm->set(deadline, std::move(wake));
      clock.isSet = true;
    }
    void cancel() override { alarm->cancel(); }

    ThrowingClock& clock;
    std::unique_ptr<Alarm> alarm;
  };

  [[nodiscard]] SteadyTime steadyNow() const override { return manual.steadyNow(); }
  [[nodiscard]] WallTime wallNow() const override { return manual.wallNow(); }
  [[nodiscard]] std::unique_ptr<Alarm> makeAlarm(const boost::asio::any_io_executor& executor) override {
    return std::make_unique<ThrowingAlarm>(*this, manual.makeAlarm(executor));
  }

  testing::ManualClock manual;
  std::atomic<bool> hasThrown = false;
  std::atomic<bool> isSet = false;
};

TEST_CASE("P11: what throws where refusals are counted is told, and the next refusal sets the timer again") {
  testing::TempDir dir;
  const auto clock = std::make_shared<ThrowingClock>();
  OutboxOptions options;
  options.agent = "urn:agent:bob";
  options.clock = clock;
  OutboxManager manager = OutboxManager::open(dir.file("bob.db"), options);
  std::promise<std::string> told;
  const Subscription subscription =
      manager.onHealth([&told](const HealthEvent& event) { told.set_value(event.sentence); });
  InboundHandler handler(manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); },
                         {.peers = aliceAndCarol()});
  const auto refuse = [&handler] { CHECK(testing::answerTo(handler, requestFrom("urn:agent:alice")).status == 401); };
  refuse();
  refuse();
  std::future<std::string> sentence = told.get_future();
  REQUIRE(sentence.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
  CHECK(sentence.get() == "an exception was caught, and the process continues: no timer");
  refuse();
  const auto until = [](const std::function<bool()>& condition) {
    while (!condition()) {
      std::this_thread::yield();
    }
  };
  until([&] { return clock->isSet.load(); });
  clock->manual.advance(std::chrono::seconds(1));
  until([&] { return OutboxManager::open(dir.file("bob.db"), {}).getStats().refusedUnauthenticated == 3; });
}

TEST_CASE("two stores that share a session's name are apart in one batch, and the answer says whose is whose") {
  Receiver bob({.allowAnonymous = true});
  const InboundRequest one = requestFrom("urn:agent:alice", "test.said", "s", "origin-1");
  const InboundRequest two = requestFrom("urn:agent:alice", "test.said", "s", "origin-2");
  InboundRequest batch{"application/cloudevents-batch+json", "[" + one.body + "," + two.body + "]", "delivery-1"};
  const json answer = json::parse(bob.post(batch).body);
  REQUIRE(answer["sessions"].size() == 2);
  CHECK(answer["sessions"][0]["origin"] == "origin-1");
  CHECK(answer["sessions"][1]["origin"] == "origin-2");
  CHECK(answer["sessions"][1]["accepted"] == "1");
  CHECK_FALSE(json::parse(bob.post(one).body)["sessions"][0].contains("origin"));
}

TEST_CASE("peers that cannot be told apart or known are refused when the handler is made") {
  const auto refusal = [](std::vector<InboundPeer> peers) -> std::string {
    try {
      Receiver bob({.peers = std::move(peers)});
    } catch (const Error& error) {
      CHECK((error.code() == Errc::invalidOption));
      return error.what();
    }
    return {};
  };
  CHECK(refusal({{.agents = {}, .secrets = secretsOf({kAliceKey})}}).find("peers[0].agents") != std::string::npos);
  CHECK(refusal({{.agents = {"urn:a"}}}).find("peers[0].secrets") != std::string::npos);
  CHECK(refusal({{.agents = {"urn:a"}, .secrets = secretsOf({})}}).find("whpk_") != std::string::npos);
  std::vector<InboundPeer> twice = aliceAndCarol();
  twice[1].agents.push_back("urn:agent:alice");
  CHECK(refusal(twice).find("urn:agent:alice") != std::string::npos);
  // A key would sign for both sides; a certificate does not.
  CHECK_FALSE(refusal({{.agents = {"urn:agent:bob"}, .secrets = secretsOf({kAliceKey})}}).empty());
  CHECK(refusal({{.agents = {"urn:agent:bob"}, .byCertificate = true}}).empty());
  CHECK(refusal({{.agents = {"urn:agent:alice"}, .byMailbox = true}}).empty());
  const std::string malformed = refusal({{.agents = {"urn:a"}, .secrets = secretsOf({"whsec_SecretLetters"})}});
  CHECK(malformed.find("secrets[0]") != std::string::npos);
  CHECK(malformed.find("Letters") == std::string::npos);
  CHECK(malformed.find("out of range") == malformed.rfind("out of range"));
}

TEST_CASE("mailboxes of a peer are names or prefixes") {
  for (const char* const pattern : {"", "urn:*:carol"}) {
    std::vector<InboundPeer> peers = aliceAndCarol();
    peers[1].mailboxes = {"urn:team:*", pattern};
    try {
      const Receiver receiver({.peers = peers});
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == Errc::invalidOption);
      CHECK(std::string(error.what()).find("peers[1].mailboxes") != std::string::npos);
    }
  }
}

TEST_CASE("secrets that cannot be read refuse the handler with their own code, and its text once") {
  try {
    Receiver bob({.peers = {{.agents = {"urn:a"}, .secrets = SecretSource::file("/nowhere/a.key")}}});
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK((error.code() == Errc::secretsUnreadable));
    CHECK(std::string(error.what()) ==
          "peers[0].secrets: file '/nowhere/a.key' cannot be read: No such file or directory: " +
              error.code().message());
  }
}

}  // namespace
}  // namespace ackbox::inbound_security_test
