#include "serve/health_check.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <string_view>
#include <utility>

#include "transport/stream.hpp"
#include "transport/url.hpp"

namespace ackbox::serve {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::size_t kAnswerBytesMax = 4096;

transport::Socket connectTo(asio::io_context& context, const std::string& url, error_code& error) {
  if (url.starts_with(kUnixPrefix)) {
    asio::local::stream_protocol::socket socket(context);
    socket.connect(asio::local::stream_protocol::endpoint(url.substr(kUnixPrefix.size())), error);
    return socket;
  }
  const transport::Url parsed = transport::parseUrl(url).url.value();
  asio::ip::tcp::socket socket(context);
  asio::ip::tcp::resolver resolver(context);
  const auto found = resolver.resolve(parsed.host, std::to_string(parsed.port), error);
  if (!error) {
    asio::connect(socket, found, error);
  }
  return socket;
}

// A socket's own timeout: nothing else is to be done meanwhile.
void limitWaits(transport::Socket& socket, std::chrono::seconds timeout) {
  const timeval limit{.tv_sec = timeout.count(), .tv_usec = 0};
  ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

std::string readAnswer(transport::Socket& socket) {
  std::string answer;
  std::array<char, 1024> piece{};
  while (answer.size() < kAnswerBytesMax) {
    // The socket's own call: Asio's would wait for ever behind a timeout.
    const ssize_t size = ::recv(socket.native_handle(), piece.data(), piece.size(), 0);
    if (size <= 0) {
      break;
    }
    answer.append(piece.data(), static_cast<std::size_t>(size));
  }
  return answer;
}

}  // namespace

HealthCheckResult checkHealth(const std::string& url, std::chrono::seconds timeout) {
  if (!url.starts_with(kUnixPrefix)) {
    const transport::ParsedUrl parsed = transport::parseUrl(url);
    if (!parsed.url || parsed.url->isEncrypted) {
      return {false, parsed.url ? "only http:// and unix: can be asked" : parsed.error};
    }
  }
  asio::io_context context;
  error_code error;
  transport::Socket socket = connectTo(context, url, error);
  if (error) {
    return {false, error.message()};
  }
  limitWaits(socket, timeout);
  constexpr std::string_view kRequest = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  asio::write(socket, asio::buffer(kRequest), error);
  const std::string answer = error ? std::string() : readAnswer(socket);
  const std::string line = answer.substr(0, answer.find("\r\n"));
  if (!line.starts_with("HTTP/1.1 ")) {
    return {false, "no answer within " + std::to_string(timeout.count()) + " s"};
  }
  const bool isReady = line.starts_with("HTTP/1.1 200");
  return {isReady, isReady ? "ready" : "answers " + line.substr(std::string_view("HTTP/1.1 ").size())};
}

}  // namespace ackbox::serve
