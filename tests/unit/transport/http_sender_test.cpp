// Goal: frames are sent as the protocol describes, and every end of a request becomes the report that the outbox acts
// on. Method: an `HttpSender` on loopback, against a scripted peer where the bytes matter, and against this project's
// server with the real protocol on both sides.

#include "ackbox/http_sender.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <future>
#include <memory>
#include <mutex>

#include "ackbox/error.hpp"
#include "ackbox/options.hpp"
#include "protocol/http_date.hpp"
#include "protocol/signature.hpp"
#include "protocol/wire.hpp"
#include "support/lone_frame.hpp"
#include "support/manual_clock.hpp"
#include "support/reserved_port.hpp"
#include "transport/http_server.hpp"
#include "unit/transport/io_thread.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::http_sender_test {
namespace {

using testing::RawConnection;
using testing::RawServer;

SendRequest requestTo(const std::string& url, std::size_t frames) {
  SendRequest request;
  request.peer = "bob";
  request.url = url;
  request.peerAgent = "urn:agent:bob";
  request.agent = "urn:agent:alice";
  request.origin = "origin-1";
  request.epoch = 1;
  request.timeout = std::chrono::seconds(10);
  for (std::size_t index = 0; index < frames; ++index) {
    OutboundFrame frame;
    frame.messageId = "message-" + std::to_string(index + 1);
    frame.session = "talk";
    frame.type = "com.example.said";
    frame.data = "{\"n\":" + std::to_string(index + 1) + "}";
    frame.sequence = index + 1;
    frame.previousSequence = index;
    request.frames.push_back(std::move(frame));
  }
  return request;
}

std::future<SendReport> begin(HttpSender& sender, SendRequest request) {
  auto promise = std::make_shared<std::promise<SendReport>>();
  // A second call would throw from the promise and end the test.
  sender.asyncSend(std::move(request), [promise](SendReport report) { promise->set_value(std::move(report)); });
  return promise->get_future();
}

/// Takes a request, and does not answer.
struct SilentPeer {
  std::promise<void> arrived;
  RawServer server{{[this](RawConnection& connection) {
    connection.receiveMessage();
    arrived.set_value();
    connection.receiveAll();
  }}};
};

/// Acknowledges every frame, through the real protocol, and keeps the received data.
class Receiver {
public:
  Receiver() {
    transport::RequestSink sink;
    sink.bodyBytesMax = limits_.bodyBytesMax;
    sink.handle = [this](const InboundRequest& request, const transport::RequestSink::Respond& respond) {
      const protocol::DecodedRequest decoded = protocol::decodeRequest(request, limits_);
      if (decoded.problem) {
        respond(*decoded.problem);
        return;
      }
      std::vector<std::string_view> ids;
      for (const protocol::DecodedFrame& member : decoded.frames) {
        ids.push_back(member.frame.id);
        const std::scoped_lock lock(mutex_);
        heard_.push_back(member.frame.data);
        deliveries_.push_back(request.webhookId);
      }
      FrameResult acknowledged;
      acknowledged.outcome = Outcome::ack;
      const std::vector<FrameResult> results(ids.size(), acknowledged);
      respond(protocol::encodeAck(request, decoded.batch, "store-1", ids, results, {}, limits_));
    };
    server = std::make_shared<transport::HttpServer>(io.executor(), InboundServerOptions{}, std::move(sink));
    server->start();
  }
  ~Receiver() { server->stop(); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  [[nodiscard]] std::vector<std::string> heard() {
    const std::scoped_lock lock(mutex_);
    return heard_;
  }
  [[nodiscard]] std::vector<std::string> deliveries() {
    const std::scoped_lock lock(mutex_);
    return deliveries_;
  }

private:
  const InboundOptions limits_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::string> heard_;
  std::vector<std::string> deliveries_;

public:
  // Declared after the members that its handler uses.
  testing::IoThread io;
  std::shared_ptr<transport::HttpServer> server;
};

TEST_CASE("Frames sent alone and in a batch are heard in order and acknowledged one by one") {
  Receiver receiver;
  testing::IoThread io;
  HttpSender sender;
  sender.start(io.executor());

  const SendReport single = begin(sender, requestTo(receiver.server->url(), 1)).get();
  CHECK_MESSAGE(single.outcome == RequestOutcome::answered, single.error);
  REQUIRE(single.results.size() == 1);
  CHECK(single.results[0].outcome == Outcome::ack);
  CHECK(single.creditFrames > 1);

  const SendReport batch = begin(sender, requestTo(receiver.server->url(), 3)).get();
  CHECK_MESSAGE(batch.outcome == RequestOutcome::answered, batch.error);
  REQUIRE(batch.results.size() == 3);
  CHECK(batch.results[2].outcome == Outcome::ack);

  begin(sender, requestTo(receiver.server->url(), 2)).get();
  CHECK(receiver.heard() ==
        std::vector<std::string>{"{\"n\":1}", "{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":1}", "{\"n\":2}"});
  CHECK(receiver.deliveries()[0] == "message-1");
  CHECK(receiver.deliveries()[1] != receiver.deliveries()[4]);
  sender.stop();
}

TEST_CASE("A request carries the protocol's headers") {
  std::string seen;
  RawServer peer({[&](RawConnection& connection) {
    seen = connection.receiveMessage();
    connection.send("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n");
  }});
  testing::IoThread io;
  HttpSenderOptions options;
  options.clock = std::make_shared<testing::ManualClock>(WallTime(std::chrono::milliseconds(1'674'087'231'999)));
  HttpSender sender(options);
  sender.start(io.executor());
  const SendReport report = begin(sender, requestTo(peer.url(), 1)).get();
  CHECK(report.outcome == RequestOutcome::peerUnavailable);
  CHECK((report.retryAfter == std::chrono::seconds(9)));
  for (const char* header : {"content-type: application/cloudevents+json", "webhook-id: message-1",
                             "webhook-timestamp: 1674087231", "outbox-version: 1"}) {
    CAPTURE(header);
    CHECK(seen.find(std::string("\r\n") + header + "\r\n") != std::string::npos);
  }
  CHECK(seen.find("\r\nuser-agent: ackbox/") != std::string::npos);
  sender.stop();
}

TEST_CASE("P8: ends without an answer become the peer's state, and a broken connection is told apart") {
  RawServer peer({[](RawConnection& connection) { connection.receiveMessage(); },
                  [](RawConnection& connection) {
                    connection.receiveMessage();
                    connection.send("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
                  }});
  testing::IoThread io;
  HttpSender sender;
  sender.start(io.executor());
  const auto outcome = [&](const std::string& url) { return begin(sender, requestTo(url, 1)).get().outcome; };
  CHECK(outcome(peer.url()) == RequestOutcome::connectionLost);
  CHECK(outcome(peer.url()) == RequestOutcome::peerRefused);
  const testing::ReservedPort nobody;
  CHECK(outcome(nobody.url()) == RequestOutcome::peerUnavailable);
  CHECK(outcome(nobody.url("/inbox", "https")) == RequestOutcome::peerUnavailable);
  sender.stop();
}

TEST_CASE("P8: a TLS handshake in which the peer says nothing ends with a time of its own, and the error says so") {
  std::promise<void> arrived;
  RawServer peer({[&](RawConnection& connection) {
    connection.receiveUntil("\x03");
    arrived.set_value();
    connection.receiveAll();
  }});
  testing::IoThread io;
  const auto clock = std::make_shared<testing::ManualClock>();
  HttpSenderOptions options;
  options.clock = clock;
  options.handshakeTimeout = std::chrono::seconds(5);
  HttpSender sender(options);
  sender.start(io.executor());
  std::future<SendReport> report =
      begin(sender, requestTo("https://127.0.0.1:" + std::to_string(peer.port()) + "/", 1));
  arrived.get_future().wait();
  clock->advance(std::chrono::seconds(5));
  const SendReport ended = report.get();
  CHECK(ended.outcome == RequestOutcome::peerUnavailable);
  CHECK_MESSAGE(ended.error.find("the TLS handshake timed out") != std::string::npos, ended.error);
  sender.stop();
}

TEST_CASE("P8: a peer that keeps silent is given up when the request's time is over, by the sender's clock") {
  SilentPeer peer;
  testing::IoThread io;
  const auto clock = std::make_shared<testing::ManualClock>();
  HttpSenderOptions options;
  options.clock = clock;
  HttpSender sender(options);
  sender.start(io.executor());
  std::future<SendReport> report = begin(sender, requestTo(peer.server.url(), 1));
  peer.arrived.get_future().wait();
  clock->advance(std::chrono::seconds(10));
  CHECK(report.get().outcome == RequestOutcome::peerUnavailable);
  sender.stop();
}

TEST_CASE("Stopping cancels what is under way exactly once; a new start, on another executor, sends again") {
  SilentPeer silent;
  Receiver receiver;
  HttpSender sender;
  CHECK(begin(sender, requestTo(receiver.server->url(), 1)).get().outcome == RequestOutcome::cancelled);
  {
    testing::IoThread io;
    sender.start(io.executor());
    std::future<SendReport> pending = begin(sender, requestTo(silent.server.url(), 1));
    silent.arrived.get_future().wait();
    sender.stop();
    sender.stop();
    CHECK(pending.get().outcome == RequestOutcome::cancelled);
    CHECK(begin(sender, requestTo(receiver.server->url(), 1)).get().outcome == RequestOutcome::cancelled);
  }
  testing::IoThread io;
  sender.start(io.executor());
  CHECK(begin(sender, requestTo(receiver.server->url(), 1)).get().outcome == RequestOutcome::answered);
  sender.stop();
}

TEST_CASE("A handler may send again and may stop the sender") {
  Receiver receiver;
  // An answer that comes before the stop is reported, so this peer sends none.
  RawServer silent({[](RawConnection& connection) { connection.receiveAll(); }});
  testing::IoThread io;
  HttpSender sender;
  sender.start(io.executor());
  std::promise<RequestOutcome> second;
  sender.asyncSend(requestTo(receiver.server->url(), 1), [&](const SendReport&) {
    sender.asyncSend(requestTo(silent.url(), 1), [&](const SendReport& report) { second.set_value(report.outcome); });
    sender.stop();
  });
  CHECK(second.get_future().get() == RequestOutcome::cancelled);
}

const std::string kSecret = "whsec_YWxpY2UgYWxpY2UgYWxpY2UgYWxpY2UgYWxpY2U=";
const std::string kOtherSecret = "whsec_Y2Fyb2wgY2Fyb2wgY2Fyb2wgY2Fyb2wgY2Fyb2w=";

protocol::KeyRing ringOf(const std::string& secret) {
  return protocol::KeyRing(std::vector{Secret(secret)});
}

PeerOptions bobWith(const std::vector<std::string>& secrets) {
  PeerOptions bob;
  bob.name = "bob";
  std::vector<Secret> parsed;
  for (const std::string& secret : secrets) {
    parsed.emplace_back(secret);
  }
  bob.secrets = SecretSource::fixed(parsed);
  return bob;
}

std::string headerIn(const std::string& message, const std::string& name) {
  const std::size_t begin = message.find("\r\n" + name + ": ");
  if (begin == std::string::npos) {
    return {};
  }
  const std::size_t value = begin + name.size() + 4;
  return message.substr(value, message.find("\r\n", value) - value);
}

constexpr WallTime kNow{std::chrono::milliseconds(1'700'000'000'000)};

/// A peer's answer to a request of one frame, and its signature.
struct SignedAnswer {
  int status = 200;
  std::string contentType = "application/json";
  std::string body =
      R"({"outbox":"1","delivery":"message-1","store":"b","results":[{"id":"message-1","outcome":"ack"}]})";
  std::string id = "re_message-1";
  std::string key = kSecret;
  WallTime signedAt = kNow;

  [[nodiscard]] std::string bytes() const {
    const protocol::SignatureHeaders headers = ringOf(key).sign(id, body, signedAt);
    return "HTTP/1.1 " + std::to_string(status) + " Said\r\nContent-Type: " + contentType + "\r\nwebhook-id: " + id +
           "\r\nwebhook-timestamp: " + headers.timestamp + "\r\nwebhook-signature: " + headers.signature +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
};

/// Sends `frames` frames, signed, to a peer that answers `bytes`; the received request goes to `seen`.
SendReport exchange(const std::string& bytes, std::size_t frames = 1, std::string* seen = nullptr) {
  RawServer peer({[&](RawConnection& connection) {
    const std::string request = connection.receiveMessage();
    if (seen != nullptr) {
      *seen = request;
    }
    connection.send(bytes);
  }});
  testing::IoThread io;
  HttpSenderOptions options;
  options.clock = std::make_shared<testing::ManualClock>(kNow);
  HttpSender sender(options);
  const PeerOptions bob = bobWith({kSecret});
  sender.usePeers({&bob, 1});
  sender.start(io.executor());
  SendReport report = begin(sender, requestTo(peer.url(), frames)).get();
  sender.stop();
  return report;
}

TEST_CASE(
    "The trace context of a hop is the tracer's, or else the frames' own where they agree, and never two headers") {
  const auto sentWith = [](const std::function<std::string(const SendRequest&)>& tracer, const std::string& first,
                           const std::string& second) {
    std::string seen;
    RawServer peer({[&](RawConnection& connection) {
      seen = connection.receiveMessage();
      connection.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    }});
    testing::IoThread io;
    HttpSenderOptions options;
    options.traceparent = tracer;
    HttpSender sender(options);
    sender.start(io.executor());
    SendRequest request = requestTo(peer.url(), 2);
    request.frames[0].traceparent = first;
    request.frames[1].traceparent = second;
    begin(sender, request).get();
    sender.stop();
    CHECK(seen.find("injected") == std::string::npos);
    return headerIn(seen, "traceparent");
  };
  CHECK(sentWith({}, "00-a-b-01", "00-a-b-01") == "00-a-b-01");
  CHECK(sentWith({}, "00-a-b-01", "00-a-c-01").empty());
  CHECK(sentWith({}, "", "").empty());
  CHECK(sentWith([](const SendRequest& request) { return "00-hop-" + request.frames[1].messageId; }, "00-a", "00-a") ==
        "00-hop-message-2");
  CHECK(sentWith([](const SendRequest&) { return "00\r\ninjected: 1"; }, "", "").empty());
  CHECK(sentWith([](const SendRequest&) -> std::string { throw std::runtime_error("no tracer"); }, "", "").empty());
}

TEST_CASE("P11: a request is signed with the peer's key over the bytes that travel, and says whose it is") {
  std::string seen;
  const SendReport report = exchange(SignedAnswer().bytes(), 1, &seen);
  CHECK_MESSAGE(report.outcome == RequestOutcome::answered, report.error);
  const std::string body = seen.substr(seen.find("\r\n\r\n") + 4);
  const protocol::SignatureHeaders headers{headerIn(seen, "webhook-id"), headerIn(seen, "webhook-timestamp"),
                                           headerIn(seen, "webhook-signature")};
  CHECK(headers.id == "message-1");
  CHECK(headers.timestamp == "1700000000");
  CHECK(ringOf(kSecret).verify(headers, body, kNow) == protocol::SignatureVerdict::valid);
  CHECK(headerIn(seen, "outbox-agent") == "urn:agent:alice");
  CHECK(seen.find("whsec_") == std::string::npos);
}

/// Does the same with a peer of this profile. The clock moves by `passing` only, and the request has an hour.
SendReport exchangeAs(PeerProfile profile, const RawServer::Script& script, std::chrono::milliseconds passing) {
  RawServer peer({script});
  testing::IoThread io;
  HttpSenderOptions options;
  const auto clock = std::make_shared<testing::ManualClock>(kNow);
  options.clock = clock;
  HttpSender sender(options);
  PeerOptions bob = bobWith({kSecret});
  bob.profile = profile;
  sender.usePeers({&bob, 1});
  sender.start(io.executor());
  SendRequest request = requestTo(peer.url(), 1);
  request.timeout = std::chrono::hours(1);
  std::future<SendReport> report = begin(sender, std::move(request));
  // Shorter than a scripted peer waits.
  constexpr int kTurnsMost = 5'000;
  for (int turn = 0; turn < kTurnsMost && report.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready;
       ++turn) {
    clock->advance(passing);
  }
  // Checked before the stop, which would also end it.
  CHECK((report.wait_for(std::chrono::seconds(0)) == std::future_status::ready));
  sender.stop();
  return report.get();
}

TEST_CASE("P3: a webhook's 2xx counts as soon as its status was read, whatever follows it") {
  for (const char* bytes : {"HTTP/1.1 200\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
                            "HTTP/1.1 204 No Content\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 202 Acc"}) {
    CAPTURE(bytes);
    const SendReport report = exchangeAs(PeerProfile::webhook,
                                         [&](RawConnection& connection) {
                                           connection.receiveMessage();
                                           connection.send(bytes);
                                           connection.close();
                                         },
                                         {});
    CHECK_MESSAGE(testing::isAcknowledged(report), report.error);
  }
}

TEST_CASE("P12: what follows a webhook's 2xx has a second, and not the request's hour") {
  const SendReport report = exchangeAs(
      PeerProfile::webhook,
      [](RawConnection& connection) {
        connection.receiveMessage();
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
        static_cast<void>(connection.receiveAll());
      },
      std::chrono::milliseconds(10));
  CHECK_MESSAGE(testing::isAcknowledged(report), report.error);
}

TEST_CASE("A webhook's refusal says what the endpoint said, and its date is heard by the sender's clock") {
  const SendReport report =
      exchangeAs(PeerProfile::webhook,
                 [](RawConnection& connection) {
                   connection.receiveMessage();
                   connection.send("HTTP/1.1 503 Busy\r\nContent-Type: application/json\r\nRetry-After: " +
                                   protocol::formatHttpDate(kNow + std::chrono::seconds(9)) +
                                   "\r\nContent-Length: 20\r\n\r\n{\"detail\":\"closing\"}");
                 },
                 {});
  CHECK(report.error == "HTTP 503: closing");
  CHECK(report.retryAfter == std::chrono::seconds(9));
}

TEST_CASE("Each profile of CloudEvents sends a signed event in its mode, and any 2xx is its ACK") {
  for (const PeerProfile profile : {PeerProfile::cloudevents, PeerProfile::cloudeventsBinary}) {
    std::string seen;
    const SendReport report = exchangeAs(profile,
                                         [&](RawConnection& connection) {
                                           seen = connection.receiveMessage();
                                           connection.send("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
                                         },
                                         {});
    CHECK_MESSAGE(testing::isAcknowledged(report), report.error);
    const bool isBinary = profile == PeerProfile::cloudeventsBinary;
    const std::string body = seen.substr(seen.find("\r\n\r\n") + 4);
    CHECK(headerIn(seen, "content-type") == (isBinary ? "application/json" : "application/cloudevents+json"));
    CHECK(headerIn(seen, "ce-id") == (isBinary ? "message-1" : ""));
    CHECK((body.find("specversion") == std::string::npos) == isBinary);
    const protocol::SignatureHeaders headers{headerIn(seen, "webhook-id"), headerIn(seen, "webhook-timestamp"),
                                             headerIn(seen, "webhook-signature")};
    CHECK(ringOf(kSecret).verify(headers, body, kNow) == protocol::SignatureVerdict::valid);
  }
}

TEST_CASE("a receiver that does not accept our signature is refused in words that name what to look at") {
  const SendReport report = exchange("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  CHECK(report.outcome == RequestOutcome::peerRefused);
  CHECK(
      report.error.starts_with("HTTP 401: the receiver does not accept our signature: check that this agent's URI "
                               "(urn:agent:alice) is among the peers of the receiver's inbox, the secrets on both "
                               "sides, and both clocks"));
}

TEST_CASE("a 401 from a receiver whose clock is far from ours says how far, and any other answer does not") {
  const auto errorAt = [](int status, const std::string& date) {
    return exchange("HTTP/1.1 " + std::to_string(status) + " Said\r\nDate: " + date + "\r\nContent-Length: 0\r\n\r\n")
        .error;
  };
  const std::string early = protocol::formatHttpDate(kNow - std::chrono::seconds(600));
  const std::string late = protocol::formatHttpDate(kNow + std::chrono::seconds(600));
  CHECK(
      errorAt(401, early).ends_with("; this machine's clock is 600 s ahead of the peer's: set the one that is wrong"));
  CHECK(errorAt(401, late).ends_with("; this machine's clock is 600 s behind the peer's: set the one that is wrong"));
  CHECK(errorAt(403, late).find("clock is") == std::string::npos);
  CHECK(errorAt(401, protocol::formatHttpDate(kNow + std::chrono::seconds(299))).find("clock is") == std::string::npos);
  CHECK(errorAt(401, "yesterday").find("clock is") == std::string::npos);
}

TEST_CASE("hostile: an answer that is not signed, or signed for another request: acknowledges nothing") {
  const SignedAnswer good;
  REQUIRE(exchange(good.bytes()).outcome == RequestOutcome::answered);
  SignedAnswer forged = good;
  forged.key = kOtherSecret;
  SignedAnswer asRequest = good;
  asRequest.id = "message-1";
  SignedAnswer ofAnother = good;
  ofAnother.id = "re_message-2";
  SignedAnswer old = good;
  old.signedAt = kNow - std::chrono::seconds(301);
  SignedAnswer early = good;
  early.signedAt = kNow + std::chrono::seconds(301);
  std::string altered = good.bytes();
  altered.replace(altered.find("\"store\":\"b\""), 11, "\"store\":\"c\"");
  const std::string portal =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(good.body.size()) +
      "\r\n\r\n" + good.body;
  for (const std::string& bytes :
       {forged.bytes(), asRequest.bytes(), ofAnother.bytes(), old.bytes(), early.bytes(), altered, portal}) {
    CAPTURE(bytes);
    const SendReport report = exchange(bytes);
    CHECK(report.outcome == RequestOutcome::peerUnavailable);
    CHECK(report.results.empty());
    CHECK(report.error.find("not signed") != std::string::npos);
  }
}

TEST_CASE("hostile: a refusal for good that is not signed: costs a frame an attempt, and not its life") {
  const std::string problem = R"({"title":"Too large","status":413})";
  SignedAnswer refusal;
  refusal.status = 413;
  refusal.contentType = "application/problem+json";
  refusal.body = problem;
  CHECK(exchange(refusal.bytes()).outcome == RequestOutcome::requestRejected);
  SignedAnswer turned = refusal;
  turned.status = 400;
  SignedAnswer forged = refusal;
  forged.key = kOtherSecret;
  for (const std::string& bytes : {turned.bytes(), forged.bytes()}) {
    const SendReport report = exchange(bytes);
    REQUIRE(report.outcome == RequestOutcome::answered);
    REQUIRE(report.results.size() == 1);
    CHECK(report.results[0].outcome == Outcome::nack);
    CHECK(report.results[0].code == "unverified-refusal");
  }
  // A forged demand for smaller requests does no harm.
  CHECK(exchange(forged.bytes(), 2).outcome == RequestOutcome::requestRejected);
  forged.status = 401;
  CHECK(exchange(forged.bytes()).outcome == RequestOutcome::peerRefused);
}

TEST_CASE(
    "P11: a secret that is taken away while a request is under way signs no answer to it, and no further request") {
  for (const PeerProfile profile : {PeerProfile::native, PeerProfile::webhook}) {
    const auto clock = std::make_shared<testing::ManualClock>(kNow);
    std::atomic<bool> isGone = false;
    RawServer peer({[&](RawConnection& connection) {
      connection.receiveMessage();
      isGone = true;
      clock->advance(std::chrono::seconds(1));
      connection.send(SignedAnswer().bytes());
    }});
    std::vector<std::string> told;
    testing::IoThread io;
    HttpSenderOptions options;
    options.clock = clock;
    options.onSecretsLost = [&](std::string_view name, std::string_view what) {
      told.push_back(std::string(name) + ": " + std::string(what));
    };
    HttpSender sender(options);
    PeerOptions bob;
    bob.name = "bob";
    bob.profile = profile;
    bob.secrets = SecretSource::callback(
        [&] { return isGone ? std::vector<Secret>() : std::vector{Secret(std::string(kSecret))}; });
    sender.usePeers({&bob, 1});
    sender.start(io.executor());
    const SendReport first = begin(sender, requestTo(peer.url(), 1)).get();
    const bool isBelieved = first.outcome == RequestOutcome::answered && first.results.at(0).outcome == Outcome::ack;
    // A webhook's answer is not signed at all.
    CHECK(isBelieved == (profile == PeerProfile::webhook));
    // The peer accepts one connection only: a second request would be lost, not merely held back.
    const SendReport second = begin(sender, requestTo(peer.url(), 1)).get();
    CHECK(second.outcome == RequestOutcome::peerUnavailable);
    CHECK(second.error.find("any more; add whs") != std::string::npos);
    sender.stop();
    CHECK(told.size() == 1);
    CHECK((told.empty() || told.front().starts_with("bob: ")));
  }
}

TEST_CASE("P11: secrets that are none, or could verify no answer, and plain HTTP to another machine are refused") {
  HttpSender sender;
  const auto refusal = [&](const PeerOptions& peer) -> std::string {
    try {
      sender.usePeers({&peer, 1});
    } catch (const Error& error) {
      CHECK((error.code() == Errc::invalidOption));
      return error.what();
    }
    return {};
  };
  CHECK(refusal(bobWith({kSecret})).empty());
  const std::string malformed = refusal(bobWith({"whsec_SecretLetters"}));
  CHECK(malformed.find("peers['bob']") != std::string::npos);
  CHECK(malformed.find("Letters") == std::string::npos);
  for (const auto grace : {std::chrono::milliseconds(-1), std::chrono::milliseconds(std::chrono::hours(24)) * 2}) {
    HttpSenderOptions options;
    options.secretsGrace = grace;
    CHECK_THROWS_WITH_AS(HttpSender{options}, doctest::Contains("secretsGrace"), Error);
  }
  CHECK(refusal(bobWith({})).find("whpk_") != std::string::npos);
  CHECK(refusal(bobWith({"whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="})).find("whpk_") != std::string::npos);

  PeerOptions bob;
  bob.name = "bob";
  for (const char* url :
       {"http://192.0.2.1/inbox", "http://bob.example/", "http://localhost.example/", "http://[::2]/"}) {
    CAPTURE(url);
    bob.url = url;
    bob.allowPlainHttp = false;
    CHECK(refusal(bob).find("allowPlainHttp") != std::string::npos);
    bob.allowPlainHttp = true;
    CHECK(refusal(bob).empty());
  }
  bob.allowPlainHttp = false;
  for (const char* url : {"http://127.0.0.1/", "http://127.9.9.9:80/", "http://LocalHost:8080/", "http://[::1]/"}) {
    CAPTURE(url);
    bob.url = url;
    CHECK(refusal(bob).empty());
  }

  bob.url = "https://bob.example/inbox";
  CHECK(refusal(bob).empty());

  for (const char* url : {"bob:80", "http://", "ftp://bob/", "http://bob:99999/", "http://bob/ inbox"}) {
    CAPTURE(url);
    bob.url = url;
    CHECK(refusal(bob).starts_with("peers['bob'].url: "));
  }
  // Another sender sends its messages.
  bob.url = "";
  CHECK(refusal(bob).empty());

  testing::IoThread io;
  sender.start(io.executor());
  const SendReport report = begin(sender, requestTo("http://192.0.2.1/", 1)).get();
  CHECK(report.outcome == RequestOutcome::peerRefused);
  CHECK(report.error.find("allowPlainHttp") != std::string::npos);
  sender.stop();
}

TEST_CASE("Two peers that lead to one receiver are refused by name, and several agents behind one URL are not") {
  HttpSender sender;
  const auto refusal = [&](const PeerOptions& one, const PeerOptions& other) -> std::string {
    try {
      sender.usePeers(std::vector{one, other});
    } catch (const Error& error) {
      CHECK((error.code() == Errc::invalidOption));
      return error.what();
    }
    return {};
  };
  const PeerOptions bob{.name = "bob", .url = "http://localhost:80", .agent = "urn:agent:bob"};
  PeerOptions other{.name = "robert", .url = "HTTP://LOCALHOST/", .agent = "urn:agent:bob"};
  CHECK(refusal(bob, other).find("'bob' and 'robert'") != std::string::npos);
  other.agent = {};
  CHECK(refusal(bob, other).find("'bob' and 'robert'") != std::string::npos);
  other.agent = "urn:agent:carol";
  CHECK(refusal(bob, other).empty());
  for (const char* url : {"http://localhost/other", "http://localhost:81/", "https://localhost:80/", ""}) {
    CHECK(refusal(bob, {.name = "robert", .url = url, .agent = "urn:agent:bob"}).empty());
  }
  // Receivers of webhooks ignore the numbers.
  CHECK(refusal({.name = "quick", .url = bob.url, .profile = PeerProfile::webhook},
                {.name = "patient", .url = bob.url, .profile = PeerProfile::webhook})
            .empty());
}

TEST_CASE("An option out of its range is named") {
  HttpSenderOptions options;
  options.connectTimeout = std::chrono::milliseconds(0);
  CHECK_THROWS_WITH_AS(HttpSender{options}, doctest::Contains("connectTimeout"), Error);
  options = {};
  options.connectionAge = std::chrono::milliseconds(0);
  CHECK_THROWS_WITH_AS(HttpSender{options}, doctest::Contains("connectionAge"), Error);
  constexpr std::size_t kMost = std::size_t{64} * 1024 * 1024;
  options = {};
  options.responseBytesMax = kMost;
  CHECK_NOTHROW(HttpSender{options});
  for (const std::size_t bytes : {std::size_t{0}, kMost + 1}) {
    options.responseBytesMax = bytes;
    CHECK_THROWS_WITH_AS(HttpSender{options}, doctest::Contains("responseBytesMax"), Error);
  }
  options = {};
  for (const std::size_t bytes : {1024U, 16U * 1024}) {
    options.headerBytesMax = bytes;
    CHECK_NOTHROW(HttpSender{options});
  }
  for (const std::size_t bytes : {0U, 1023U, 16U * 1024 + 1}) {
    options.headerBytesMax = bytes;
    CHECK_THROWS_WITH_AS(HttpSender{options}, doctest::Contains("headerBytesMax"), Error);
  }
}

}  // namespace
}  // namespace ackbox::http_sender_test
