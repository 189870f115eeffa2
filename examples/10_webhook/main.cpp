// Webhooks to a receiver that knows nothing of ackbox: a plain HTTP server that verifies the signature of Standard
// Webhooks. Any 2xx is the ACK. What else it answers decides what becomes of the message, or of the peer.

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <ackbox/http_sender.hpp>
#include <ackbox/outbox_manager.hpp>
#include <ackbox/outbox_operator.hpp>
#include <ackbox/outbox_reader.hpp>
#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <queue>
#include <semaphore>
#include <set>
#include <sstream>
#include <string>
#include <thread>

namespace {

using namespace ackbox;
namespace http = boost::beast::http;
using boost::asio::ip::tcp;

// As `openssl rand -base64 32` prints it.
const std::string kKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// What any receiver of Standard Webhooks does: HMAC-SHA256 of `id.timestamp.body`, and a look at the clock.
bool isSigned(const http::request<http::string_body>& request) {
  std::array<unsigned char, 64> key{};
  EVP_DecodeBlock(key.data(), reinterpret_cast<const unsigned char*>(kKey.data()), static_cast<int>(kKey.size()));
  const std::string id(request["webhook-id"]);
  const std::string timestamp(request["webhook-timestamp"]);
  const std::string content = id + "." + timestamp + "." + request.body();
  std::array<unsigned char, 32> digest{};
  HMAC(EVP_sha256(), key.data(), 32, reinterpret_cast<const unsigned char*>(content.data()), content.size(),
       digest.data(), nullptr);
  std::array<unsigned char, 45> text{};
  EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  const std::string expected = "v1," + std::string(reinterpret_cast<const char*>(text.data()), 44);
  // Several, with spaces between them, while the sender rotates its keys.
  std::istringstream signatures{std::string(request["webhook-signature"])};
  bool isFound = false;
  for (std::string each; signatures >> each;) {
    isFound |= each.size() == expected.size() && CRYPTO_memcmp(each.data(), expected.data(), each.size()) == 0;
  }
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return isFound && std::abs(now - std::strtoll(timestamp.c_str(), nullptr, 10)) <= 300 && !id.starts_with("re_");
}

/// Answers the statuses of a list, one to each request.
class Shop {
public:
  explicit Shop(std::queue<unsigned> statuses) : statuses_(std::move(statuses)) {}
  ~Shop() { thread_.join(); }

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + "/hooks";
  }

private:
  void serve() {
    std::set<std::string> seen;  // Of ids: in production, a table that is written with the effect.
    while (!statuses_.empty()) {
      tcp::socket socket = acceptor_.accept();
      boost::beast::flat_buffer buffer;
      http::request<http::string_body> request;
      http::read(socket, buffer, request);
      const unsigned status = isSigned(request) ? statuses_.front() : 401;
      statuses_.pop();
      const bool isNew = status < 300 && seen.insert(std::string(request["webhook-id"])).second;
      std::cout << request["webhook-id"] << ": " << status << (isNew ? ", done" : "") << std::endl;
      http::response<http::empty_body> response(http::int_to_status(status), 11);
      response.set(http::field::connection, "close");
      response.prepare_payload();
      http::write(socket, response);
    }
  }

  std::queue<unsigned> statuses_;
  boost::asio::io_context context_;
  tcp::acceptor acceptor_{context_, {boost::asio::ip::address_v4::loopback(), 0}};
  std::thread thread_{[this] { serve(); }};
};

}  // namespace

int main() {
  // Taken; failed at this message, then taken; refused for good; gone, which one message alone does not prove, then
  // taken.
  Shop shop(std::queue<unsigned>({204, 500, 200, 422, 410, 202}));
  OutboxOptions options{.agent = "urn:agent:alice"};
  options.peers = {{.name = "shop",
                    .url = shop.url(),
                    .secrets = SecretSource::fixed({Secret("whsec_" + kKey)}),
                    .profile = PeerProfile::webhook}};
  options.webhookRetry.delays = {std::chrono::milliseconds(1)};  // By default for days, with growing delays.
  options.log = [](const LogRecord&) {};
  auto alice = OutboxManager::open("alice.db", options);
  alice.setSender(std::make_shared<HttpSender>());
  std::counting_semaphore<> changes(0);
  const Subscription acked = alice.onAcked([&](const AckedEvent&) { changes.release(); });
  const Subscription failed = alice.onFailed([&](const FailedEvent&) { changes.release(); });
  const Subscription gone = alice.onPeer([&](const PeerEvent& event) {
    if (event.state == PeerState::held) {
      changes.release();
    }
  });
  alice.start();
  for (const char* id : {"taken", "after-a-500", "refused", "after-a-410"}) {
    alice.enqueue({.peer = "shop", .session = "orders", .type = "order.placed", .data = "{}", .id = id});
    changes.acquire();
  }
  std::cout << "the shop is " << toString(OutboxReader(alice).peers().front().state) << std::endl;
  OutboxOperator(alice).resume("shop");  // Also: `ackbox resume alice.db shop`.
  changes.acquire();
  for (const MessageInfo& message : OutboxReader(alice).deadLetters({}).messages) {
    std::cout << "given up: " << message.messageId << ", " << message.reason << std::endl;
  }
  const Stats stats = alice.getStats();
  std::cout << stats.acked << " acknowledged, " << stats.totalRetries << " retried, " << stats.failed << " given up"
            << std::endl;
  return stats.acked == 3 && stats.totalRetries == 1 && stats.failed == 1 ? 0 : 1;
}
