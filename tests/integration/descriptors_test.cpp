// Goal: a process that runs out of descriptors says so, and says it of no peer: its peers that answer are served while
// thousands of others are mute, no peer is down and no message is charged for what this process lacks (P8, P11).
// Method: real sockets on loopback under a lowered limit of descriptors; mute peers are addresses of a socket that
// listens and never accepts.

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "support/resource_limit.hpp"
#include "support/temp_dir.hpp"
#include "transport/http_server.hpp"
#include "unit/transport/io_thread.hpp"

namespace ackbox::descriptors_test {
namespace {

/// Takes connections and says nothing, under every loopback address.
class Mute {
public:
  Mute() : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t size = sizeof(address);
    REQUIRE(bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), size) == 0);
    REQUIRE(listen(descriptor_, 4'096) == 0);
    REQUIRE(getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  ~Mute() { close(descriptor_); }
  Mute(const Mute&) = delete;
  Mute& operator=(const Mute&) = delete;

  [[nodiscard]] std::string url(int number) const {
    return "http://127.1." + std::to_string(number / 250) + "." + std::to_string(1 + number % 250) + ":" +
           std::to_string(port_) + "/";
  }

private:
  const int descriptor_;
  std::uint16_t port_ = 0;
};

/// Answers 204 under every loopback address.
class Live {
public:
  Live() {
    transport::RequestSink sink;
    sink.bodyBytesMax = 1 << 20;
    sink.handle = [](const InboundRequest&, const transport::RequestSink::Respond& respond) {
      InboundResponse response;
      response.status = 204;
      respond(response);
    };
    InboundServerOptions options;
    options.address = "0.0.0.0";
    options.allowPlainHttp = true;
    server_ = std::make_shared<transport::HttpServer>(io_.executor(), options, std::move(sink));
    server_->start();
  }
  ~Live() { server_->stop(); }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  [[nodiscard]] std::string url(int number) const {
    const std::string known = server_->url();
    return "http://127.2.0." + std::to_string(1 + number) + known.substr(known.rfind(':'));
  }

private:
  testing::IoThread io_;
  std::shared_ptr<transport::HttpServer> server_;
};

PeerOptions peerAt(std::string name, std::string url) {
  PeerOptions peer;
  peer.name = std::move(name);
  peer.url = std::move(url);
  peer.profile = PeerProfile::webhook;
  return peer;
}

void say(OutboxManager& manager, const std::string& peer, const std::string& session) {
  Frame frame;
  frame.peer = peer;
  frame.session = session;
  frame.type = "com.example.said";
  manager.enqueue(frame);
}

bool isDescriptors(const std::string& text) {
  return text.find("oo many open files") != std::string::npos;
}

TEST_CASE(
    "P11: 100 peers that answer are served beside 1,900 mute ones at 1,024 descriptors, before any of these times "
    "out") {
  const testing::ResourceLimit limit(RLIMIT_NOFILE, 1'024);
  const Mute mute;
  const Live live;
  OutboxOptions options;
  options.durability = Durability::processCrash;
  for (int peer = 0; peer < 2'000; ++peer) {
    const bool isLive = peer % 20 == 0;
    options.peers.push_back(
        peerAt((isLive ? "live " : "mute ") + std::to_string(peer), isLive ? live.url(peer / 20) : mute.url(peer)));
  }
  const testing::TempDir dir;
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"), options);
  manager.setSender(std::make_shared<HttpSender>());
  std::mutex mutex;
  std::vector<std::string> told;
  const Subscription heard = manager.onHealth([&](const HealthEvent& event) {
    const std::scoped_lock lock(mutex);
    told.push_back(event.sentence);
  });
  std::size_t retries = 0;
  const Subscription retried = manager.onRetry([&retries](const RetryEvent&) { ++retries; });
  for (const PeerOptions& peer : options.peers) {
    for (int message = 0; message < (peer.name.starts_with("live") ? 20 : 2); ++message) {
      say(manager, peer.name, std::to_string(message % 4));
    }
  }
  manager.start();
  while (manager.getStats().acked < 100 * 20) {
    std::this_thread::yield();
  }
  std::size_t down = 0;
  for (const PeerStatus& peer : OutboxReader(manager).peers()) {
    CHECK_FALSE(isDescriptors(peer.lastError));
    CHECK((peer.name.starts_with("mute") || peer.state == PeerState::up));
    down += peer.state == PeerState::up ? 0 : 1;
  }
  CHECK(down == 0);
  manager.stop();
  CHECK(retries == 0);
  const std::scoped_lock lock(mutex);
  CHECK(told.empty());
}

TEST_CASE(
    "P8: without a descriptor left no peer is down and nothing is charged; it is told, and all arrive when there are") {
  const testing::ResourceLimit limit(RLIMIT_NOFILE, 256);
  const Live live;
  OutboxOptions options;
  for (int peer = 0; peer < 20; ++peer) {
    options.peers.push_back(peerAt(std::to_string(peer), live.url(peer)));
  }
  const testing::TempDir dir;
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"), options);
  manager.setSender(std::make_shared<HttpSender>());
  std::mutex mutex;
  std::vector<HealthEvent> told;
  const Subscription heard = manager.onHealth([&](const HealthEvent& event) {
    const std::scoped_lock lock(mutex);
    told.push_back(event);
  });
  std::size_t retries = 0;
  const Subscription retried = manager.onRetry([&retries](const RetryEvent&) { ++retries; });
  for (const PeerOptions& peer : options.peers) {
    say(manager, peer.name, "s");
  }
  manager.start();
  const auto isTold = [&] {
    const std::scoped_lock lock(mutex);
    return !told.empty();
  };
  // Whatever was sent before there was nothing left.
  std::vector<int> taken;
  for (int descriptor = open("/dev/null", O_RDONLY); descriptor >= 0; descriptor = open("/dev/null", O_RDONLY)) {
    taken.push_back(descriptor);
  }
  for (int round = 0; !isTold(); ++round) {
    for (const PeerOptions& peer : options.peers) {
      say(manager, peer.name, "r" + std::to_string(round % 50));
    }
    // What idle connections give back.
    for (int descriptor = open("/dev/null", O_RDONLY); descriptor >= 0; descriptor = open("/dev/null", O_RDONLY)) {
      taken.push_back(descriptor);
    }
    std::this_thread::yield();
  }
  for (const PeerStatus& peer : OutboxReader(manager).peers()) {
    CHECK((peer.state == PeerState::up));
  }
  for (const int descriptor : taken) {
    close(descriptor);
  }
  while (manager.getStats().pending + manager.getStats().sending > 0) {
    std::this_thread::yield();
  }
  for (const PeerStatus& peer : OutboxReader(manager).peers()) {
    CHECK((peer.state == PeerState::up));
    CHECK_FALSE(isDescriptors(peer.lastError));
  }
  manager.stop();
  CHECK(retries == 0);
  CHECK(manager.getStats().failed == 0);
  const std::scoped_lock lock(mutex);
  CHECK((told.front().check == HealthCheck::process));
  CHECK(told.front().sentence.starts_with("this process cannot send: "));
  CHECK(isDescriptors(told.front().sentence));
}

TEST_CASE("P10: whatever a process with too few descriptors opens fails as an Error that names the remedy") {
  const Live live;
  const testing::TempDir dir;
  OutboxOptions options;
  options.peers = {peerAt("live", live.url(1))};
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"), options);
  const auto sender = std::make_shared<HttpSender>();
  manager.setSender(sender);
  InboundOptions inbound;
  inbound.allowAnonymous = true;
  InboundHandler handler(
      manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); }, inbound);
  const auto failsAs = [](const auto& step) -> std::string {
    try {
      step();
    } catch (const Error& error) {
      CHECK(error.code() == Errc::outOfDescriptors);
      CHECK(std::string(error.what()).find("ulimit -n") != std::string::npos);
      return "refused";
    } catch (const std::exception& error) {
      FAIL_CHECK(std::string(error.what()));
      return "thrown";
    }
    return "done";
  };
  std::size_t refused = 0;
  {
    const testing::ResourceLimit limit(RLIMIT_NOFILE, 128);
    std::vector<int> taken;
    for (int descriptor = open("/dev/null", O_RDONLY); descriptor >= 0; descriptor = open("/dev/null", O_RDONLY)) {
      taken.push_back(descriptor);
    }
    REQUIRE(taken.size() > 12);
    for (int more = 0; more <= 12; ++more) {
      refused += failsAs([&] { const InboundServer server(handler); }) == "refused" ? 1U : 0U;
      refused += failsAs([&] { manager.start(); }) == "refused" ? 1U : 0U;
      manager.stop();
      refused += failsAs([&] { (void)manager.drainOnce(); }) == "refused" ? 1U : 0U;
      close(taken.back());
      taken.pop_back();
    }
    for (const int descriptor : taken) {
      close(descriptor);
    }
  }
  CHECK(refused > 3);
  InboundServer server(handler);
  manager.start();
  say(manager, "live", "s");
  while (manager.getStats().acked < 1) {
    std::this_thread::yield();
  }
  manager.stop();
}

TEST_CASE("P10: a sender says how many connections it may have with the limit of descriptors as it is") {
  HttpSender sender;
  CHECK(sender.stats().connectionsMax == 512);
  CHECK(sender.stats().connections == 0);
  const testing::ResourceLimit limit(RLIMIT_NOFILE, 256);
  CHECK(sender.stats().connectionsMax == 192);
  testing::IoThread io;
  sender.start(io.executor());
  CHECK(sender.stats().connectionsMax == 192);
  sender.stop();
}

}  // namespace
}  // namespace ackbox::descriptors_test
