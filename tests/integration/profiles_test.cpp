// Goal: each peer is spoken with as its profile says: a webhook takes one signed frame a request and its status is the
// word; only there does a bare 2xx retire a message; a peer's own sender carries its messages and no others.
// Method: an outbox with a real sender, against a server on loopback that answers what the test wants.

#include <doctest/doctest.h>

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "protocol/signature.hpp"
#include "support/temp_dir.hpp"
#include "transport/http_server.hpp"
#include "unit/transport/io_thread.hpp"

namespace ackbox::profiles_test {
namespace {

const std::string kKey = "whsec_YWxpY2UgYWxpY2UgYWxpY2UgYWxpY2UgYWxpY2U=";

SecretSource keyed(const std::string& key = kKey) {
  return SecretSource::fixed({Secret(key)});
}

/// A server that knows nothing of ackbox.
class Webhook {
public:
  using Answer = std::function<InboundResponse(const InboundRequest&)>;

  explicit Webhook(Answer answer) : answer_(std::move(answer)) {
    transport::RequestSink sink;
    sink.bodyBytesMax = 1 << 20;
    sink.handle = [this](const InboundRequest& request, const transport::RequestSink::Respond& respond) {
      {
        const std::scoped_lock lock(mutex_);
        heard_.push_back(request);
      }
      respond(answer_(request));
    };
    server_ = std::make_shared<transport::HttpServer>(io_.executor(), InboundServerOptions{}, std::move(sink));
    server_->start();
  }
  explicit Webhook(int status) : Webhook([status](const InboundRequest&) { return withStatus(status); }) {}
  ~Webhook() { server_->stop(); }
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  static InboundResponse withStatus(int status) {
    InboundResponse response;
    response.status = status;
    return response;
  }
  [[nodiscard]] std::string url() const { return server_->url(); }
  [[nodiscard]] std::vector<InboundRequest> heard() {
    const std::scoped_lock lock(mutex_);
    return heard_;
  }

private:
  const Answer answer_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<InboundRequest> heard_;
  testing::IoThread io_;
  std::shared_ptr<transport::HttpServer> server_;
};

/// What a test does not speak to through HTTP: acknowledges all, and remembers.
class OwnSender final : public Sender {
public:
  void usePeers(std::span<const PeerOptions> peers) override {
    for (const PeerOptions& peer : peers) {
      if (peer.agent == "urn:agent:unwanted") {
        throw Error(Errc::invalidOption, "not that one");
      }
      introduced.push_back(peer.name);
    }
  }
  void start(const boost::asio::any_io_executor& executor) override {
    (void)executor;
    ++starts;
  }
  void asyncSend(SendRequest request, SendHandler handler) override {
    SendReport report;
    report.outcome = RequestOutcome::answered;
    FrameResult taken;
    taken.outcome = Outcome::ack;
    report.results.resize(request.frames.size(), taken);
    carried[request.peer].push_back(request.frames.size());
    handler(report);
  }
  void stop() override { ++stops; }

  std::vector<std::string> introduced;
  // By peer, the frames of each request.
  std::map<std::string, std::vector<std::size_t>> carried;
  int starts = 0;
  int stops = 0;
};

struct Outbox {
  explicit Outbox(std::vector<PeerOptions> peers, bool isHttp = true) {
    options.agent = "urn:agent:alice";
    options.peers = std::move(peers);
    options.peerHealth.probeDelays = {std::chrono::milliseconds(1)};
    options.peerHealth.killerThreshold = 2;
    manager.emplace(OutboxManager::open(dir.file("alice.db"), options));
    if (isHttp) {
      manager->setSender(std::make_shared<HttpSender>());
    }
  }
  std::string say(const std::string& peer, const std::string& data = "1", const std::string& session = "s") {
    Frame frame;
    frame.peer = peer;
    frame.session = session;
    frame.type = "com.example.said";
    frame.data = data;
    return manager->enqueue(frame).messageId;
  }
  [[nodiscard]] PeerStatus peer() const { return OutboxReader(*manager).peers().at(0); }
  void settle() {
    manager->start();
    while (manager->getStats().pending + manager->getStats().sending + manager->getStats().sent > 0) {
      std::this_thread::yield();
    }
    manager->stop();
  }

  testing::TempDir dir;
  OutboxOptions options;
  std::optional<OutboxManager> manager;
};

PeerOptions webhookAt(const std::string& url) {
  return {.name = "hook", .url = url, .secrets = keyed(), .profile = PeerProfile::webhook};
}

}  // namespace

TEST_CASE("A webhook gets one signed frame a request, in order, and any 2xx is its ACK") {
  const std::vector<int> statuses{200, 201, 202, 204, 299};
  std::size_t count = 0;
  Webhook hook([&](const InboundRequest&) {
    InboundResponse response = Webhook::withStatus(statuses[count++ % statuses.size()]);
    // An answer that reads like a grant is none here.
    response.contentType = "application/json";
    response.body = response.status == 204 ? "" : R"({"outbox":"1","credit":{"frames":256,"bytes":1048576}})";
    return response;
  });
  Outbox alice({webhookAt(hook.url())});
  std::vector<std::string> ids;
  for (int number = 0; number < 20; ++number) {
    ids.push_back(alice.say("hook", std::to_string(number)));
  }
  alice.settle();
  CHECK(alice.manager->getStats().acked == 20);
  CHECK(alice.manager->getStats().totalRetries == 0);
  const std::vector<InboundRequest> heard = hook.heard();
  REQUIRE(heard.size() == 20);
  const protocol::KeyRing keys(keyed().load());
  for (std::size_t index = 0; index < heard.size(); ++index) {
    const InboundRequest& request = heard[index];
    CHECK(request.contentType == "application/json");
    CHECK(request.webhookId == ids[index]);
    CHECK(keys.verify({request.webhookId, request.webhookTimestamp, request.webhookSignature}, request.body,
                      systemClock()->wallNow()) == protocol::SignatureVerdict::valid);
    const nlohmann::json event = nlohmann::json::parse(request.body);
    CHECK(event.at("specversion") == "1.0");
    CHECK(event.at("type") == "com.example.said");
    CHECK(event.at("data") == index);
  }
}

TEST_CASE("P3: a bare 2xx, as from a captive portal, retires a message under the webhook profile alone") {
  Webhook portal([](const InboundRequest&) {
    InboundResponse response = Webhook::withStatus(200);
    response.contentType = "text/html";
    response.body = "<html>Please log in</html>";
    return response;
  });
  for (const bool isSigned : {false, true}) {
    PeerOptions native = webhookAt(portal.url());
    native.profile = PeerProfile::native;
    native.secrets = isSigned ? keyed() : SecretSource();
    Outbox alice({native});
    const std::string id = alice.say("hook");
    alice.manager->drainOnce();
    CHECK(alice.manager->find(id)->state == MessageState::pending);
    CHECK(alice.manager->find(id)->retryCount == 0);
    CHECK(alice.manager->getStats().acked == 0);
    CHECK(alice.peer().state == PeerState::down);
  }
  Outbox bob({webhookAt(portal.url())});
  bob.say("hook");
  bob.manager->drainOnce();
  CHECK(bob.manager->getStats().acked == 1);
}

TEST_CASE("P8: what a webhook's other statuses mean for the message and for the peer") {
  struct Row {
    int status;
    PeerState peer;
    MessageState message;
    std::uint32_t retries;
  };
  using enum PeerState;
  const auto waits = MessageState::pending;
  const std::vector<Row> rows{{301, held, waits, 0},
                              {302, held, waits, 0},
                              {308, held, waits, 0},
                              {401, held, waits, 0},
                              {403, held, waits, 0},
                              {404, held, waits, 0},
                              {405, held, waits, 0},
                              {415, held, waits, 0},
                              {408, down, waits, 0},
                              {429, down, waits, 0},
                              {500, up, waits, 1},
                              {501, up, waits, 1},
                              {520, up, waits, 1},
                              {502, down, waits, 0},
                              {503, down, waits, 0},
                              {504, down, waits, 0},
                              {410, disabled, waits, 0},
                              {400, up, waits, 1},
                              {507, down, waits, 0},
                              {413, up, MessageState::failed, 0},
                              {422, up, MessageState::failed, 0}};
  Webhook elsewhere(200);
  for (const Row& row : rows) {
    CAPTURE(row.status);
    Webhook hook([&](const InboundRequest&) {
      InboundResponse response = Webhook::withStatus(row.status);
      response.headers.emplace_back("location", elsewhere.url());
      response.retryAfterSeconds = 7;
      return response;
    });
    Outbox alice({webhookAt(hook.url())});
    const std::string id = alice.say("hook");
    const WallTime before = systemClock()->wallNow();
    alice.manager->drainOnce();
    const MessageInfo message = *alice.manager->find(id);
    CHECK((message.state == row.message));
    CHECK(message.retryCount == row.retries);
    CHECK(message.lastError == "HTTP " + std::to_string(row.status));
    const PeerStatus peer = alice.peer();
    CHECK(toString(peer.state) == toString(row.peer));
    if (row.peer == down) {
      CHECK((peer.nextProbeAt >= before + std::chrono::seconds(7)));
    }
    CHECK(hook.heard().size() == 1);
  }
  CHECK(elsewhere.heard().empty());
}

TEST_CASE("P3: a frame that makes a webhook fail with 500 is charged, told of and kept, while others are taken") {
  Webhook hook([](const InboundRequest& request) {
    return Webhook::withStatus(request.body.find("poison") == std::string::npos ? 200 : 500);
  });
  Outbox alice({webhookAt(hook.url())});
  std::vector<RetryEvent> retries;
  const Subscription retried =
      alice.manager->onRetry([&retries](const RetryEvent& event) { retries.push_back(event); });
  const std::string poison = alice.say("hook", "\"poison\"", "a");
  for (int number = 0; number < 10; ++number) {
    alice.say("hook", std::to_string(number), "b");
  }
  while (alice.manager->getStats().acked < 10) {
    alice.manager->drainOnce();
  }
  const MessageInfo message = *alice.manager->find(poison);
  CHECK((message.state == MessageState::pending));
  CHECK(message.retryCount >= 1);
  CHECK(message.lastError == "HTTP 500");
  REQUIRE(retries.size() == message.retryCount);
  CHECK(retries.front().messageId == poison);
  CHECK(alice.peer().state == PeerState::up);
  CHECK(alice.manager->getStats().failed == 0);
}

TEST_CASE("A webhook's secrets must be able to sign, and it needs none that verify") {
  const std::string publicKey = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
  const std::string privateKey =
      "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdRGg==";
  HttpSender sender;
  PeerOptions peer = webhookAt("http://127.0.0.1:1/");
  peer.secrets = keyed(publicKey);
  CHECK_THROWS_WITH_AS(sender.usePeers(std::vector{peer}),
                       doctest::Contains("none of them can sign a webhook; add whsec_ or whsk_"), Error);
  peer.secrets = keyed(privateKey);
  CHECK_NOTHROW(sender.usePeers(std::vector{peer}));
}

TEST_CASE("A request of several frames never goes to a webhook") {
  Webhook hook(200);
  testing::IoThread io;
  HttpSender sender;
  sender.usePeers(std::vector{webhookAt(hook.url())});
  sender.start(io.executor());
  SendRequest request;
  request.peer = "hook";
  request.url = hook.url();
  request.frames.resize(2);
  request.timeout = std::chrono::seconds(10);
  std::promise<SendReport> told;
  sender.asyncSend(request, [&](const SendReport& report) { told.set_value(report); });
  CHECK(told.get_future().get().outcome == RequestOutcome::requestRejected);
  CHECK(hook.heard().empty());
  sender.stop();
}

TEST_CASE("row 6: a peer's own sender carries its messages and no others, with its own credit") {
  Webhook hook(204);
  const auto own = std::make_shared<OwnSender>();
  // HttpSender would refuse this URL, if it were told of it.
  const PeerOptions index{.name = "index", .url = "http://index.example/", .sender = own};
  const PeerOptions other{.name = "other", .sender = own};
  Outbox alice({webhookAt(hook.url()), index, other});
  CHECK(own->introduced == std::vector<std::string>{"index", "other"});
  for (int number = 0; number < 5; ++number) {
    alice.say("hook");
    alice.say("index");
    alice.say("other");
  }
  alice.settle();
  CHECK(alice.manager->getStats().acked == 15);
  CHECK(hook.heard().size() == 5);
  CHECK(own->carried["index"] == std::vector<std::size_t>{5});
  CHECK(own->carried["other"] == std::vector<std::size_t>{5});
  CHECK(own->carried.size() == 2);
  CHECK(own->starts == 1);
  CHECK(own->stops >= 1);

  PeerOptions without = index;
  without.sender = nullptr;
  CHECK_THROWS_WITH_AS(Outbox({without}), doctest::Contains("allowPlainHttp"), Error);
}

TEST_CASE("Where each peer has its own sender, none needs to be set; where one has not, it does") {
  const auto own = std::make_shared<OwnSender>();
  Outbox alice({{.name = "index", .sender = own}}, false);
  alice.say("index");
  alice.settle();
  CHECK(alice.manager->getStats().acked == 1);
  CHECK(own->starts == 1);

  Outbox bob({{.name = "index", .sender = own}, {.name = "hook"}}, false);
  CHECK_THROWS_WITH_AS(bob.manager->start(), doctest::Contains("nothing can be delivered"), Error);
  CHECK_THROWS_WITH_AS(Outbox({{.name = "index", .agent = "urn:agent:unwanted", .sender = own}}),
                       doctest::Contains("not that one"), Error);
}

}  // namespace ackbox::profiles_test
