// Goal: no bytes that a peer answers with crash or stall the client: each exchange ends once, within its limits.
// Method: a real client on loopback, in this thread; the input is what the peer writes before it closes.

#include "transport/http_client.hpp"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "check.hpp"
#include "protocol/wire.hpp"

namespace {

namespace asio = boost::asio;
using namespace ackbox;

constexpr std::size_t kResponseBytesMax = 4096;

struct Peer {
  asio::io_context context;
  asio::ip::tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
};

std::shared_ptr<const HttpSenderOptions> clientOptions() {
  HttpSenderOptions options;
  options.clock = systemClock();
  options.responseBytesMax = kResponseBytesMax;
  options.headerBytesMax = 1024;
  return std::make_shared<const HttpSenderOptions>(std::move(options));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static Peer peer;
  static const auto options = clientOptions();
  // Beyond all that the client keeps of one answer, and beyond the lengths that fit in 16 bits.
  constexpr std::size_t kInputMax = std::size_t{128} * 1024;
  const std::string input(fuzz::textOf(bytes, std::min(size, kInputMax)));
  asio::ip::tcp::socket connection(peer.context);
  std::array<char, 4096> request{};
  peer.acceptor.async_accept(connection, [&](const boost::system::error_code& refused) {
    if (refused) {
      return;
    }
    connection.async_read_some(asio::buffer(request), [&](const boost::system::error_code&, std::size_t) {
      asio::async_write(connection, asio::buffer(input), [&](const boost::system::error_code&, std::size_t) {
        boost::system::error_code ended;
        connection.shutdown(asio::socket_base::shutdown_send, ended);
      });
    });
  });

  const auto client = std::make_shared<transport::HttpClient>(peer.context.get_executor(), options);
  transport::HttpPost post;
  post.url.host = "127.0.0.1";
  post.url.port = peer.acceptor.local_endpoint().port();
  post.headers = {{"content-type", "application/json"}};
  post.body = "{}";
  // The peer always ends: a wait until this is a stall, which shows as a test that takes too long.
  post.timeout = std::chrono::hours(1);
  int answers = 0;
  transport::HttpAnswer answer;
  client->asyncPost(std::move(post), [&](transport::HttpAnswer given) {
    ++answers;
    answer = std::move(given);
  });
  peer.context.restart();
  while (answers == 0) {
    peer.context.run_one();
  }
  client->close();
  boost::system::error_code error;
  connection.close(error);
  peer.context.poll();
  fuzz::require(answers == 1, "an exchange ends more than once");
  fuzz::require(answer.body.size() <= kResponseBytesMax, "an answer beyond the limit is taken");
  fuzz::require(answer.end != transport::HttpEnd::answered || (answer.status >= 100 && answer.status <= 999),
                "an answer has no status");
  SendRequest sent;
  sent.frames.emplace_back().messageId = "a";
  static_cast<void>(protocol::readAnswer(sent, "d", answer.status, answer.contentType, answer.retryAfter, answer.body));
  return 0;
}
